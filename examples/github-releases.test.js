const assert = require("assert");

const url = "https://api.github.com/repos/acme/rocket/releases?per_page=20";
const release = (id, name) => ({ id, name, tag_name: name, published_at: "2024-05-01T00:00:00Z" });
const poll = (answer, db = {}) => run({ props: { repository: "acme/rocket" }, db, fetch: { [`GET ${url}`]: answer } });

test("releases are emitted oldest first, and the tag of the list is kept", async () => {
  const { emits, db } = await poll({ headers: { etag: '"v2"' }, body: [release(2, "two"), release(1, "one")] });
  assert.deepEqual(emits.map((emit) => emit.metadata.summary), ["one", "two"]);
  assert.deepEqual(db, { etag: '"v2"' });
});

test("an unchanged list emits nothing", async () => {
  const { emits, db } = await poll({ status: 304 }, { etag: '"v2"' });
  assert.deepEqual([emits, db], [[], { etag: '"v2"' }]);
});

test("an answer that is none fails the run and says why", async () => {
  const { ok, error } = await poll({ status: 404, body: "no such repository" });
  assert.equal(ok, false);
  assert.match(error.message, /404: no such repository/);
});
