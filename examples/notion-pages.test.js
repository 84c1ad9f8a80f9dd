const assert = require("assert");

test("an edited page is another event", async () => {
  const properties = { Name: { type: "title", title: [{ plain_text: "Plan" }] } };
  const page = (id, at) => ({ id, last_edited_time: at, properties });
  const results = [page("b", "2024-05-01T11:00:00Z"), page("a", "2024-05-01T10:00:00Z")];
  const { emits } = await run({
    props: { database: "d1" },
    auth: { notion: { oauth_access_token: "secret-token" } },
    fetch: { "POST https://api.notion.com/v1/databases/d1/query": { body: { results } } },
  });
  assert.deepEqual(emits.map((emit) => emit.metadata.id), ["a/2024-05-01T10:00:00Z", "b/2024-05-01T11:00:00Z"]);
  assert.equal(emits[0].metadata.summary, "Plan");
});
