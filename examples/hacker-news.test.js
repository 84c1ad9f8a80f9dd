const assert = require("assert");

test("stories are emitted with their points", async () => {
  const hits = [{ objectID: "1", title: "A story", points: 300, created_at_i: 1714557600 }];
  const url = "https://hn.algolia.com/api/v1/search_by_date?tags=story&numericFilters=points%3E=250";
  const { emits } = await run({ props: { points: 250 }, fetch: { [url]: { body: { hits } } } });
  assert.deepEqual(emits[0].metadata, { id: "1", summary: "300: A story", ts: 1714557600000 });
});
