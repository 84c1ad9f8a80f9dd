const assert = require("assert");

const poll = (body, props = {}) =>
  run({ props: { url: "https://api.example.com/", ...props }, fetch: { "https://api.example.com/": { body } } });

test("items are found by their path and told apart by their field", async () => {
  const { emits } = await poll({ data: { items: [{ sku: "a" }, { sku: "b" }] } }, { path: "data.items", idField: "sku" });
  assert.deepEqual(emits.map((emit) => emit.metadata.id), ["a", "b"]);
});

test("what is no list is told", async () => {
  assert.match((await poll({ items: 1 }, { path: "items" })).error.message, /no list at "items"/);
  assert.match((await poll([{}])).error.message, /no "id"/);
});
