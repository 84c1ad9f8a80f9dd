const assert = require("assert");

const base = "https://api.airtable.com/v0/app1/Orders?pageSize=100";
const record = (id, createdTime) => ({ id, createdTime, fields: {} });
const poll = (fetch, db = {}) =>
  run({ props: { base: "app1", table: "Orders" }, auth: { airtable: { api_key: "pat-secret" } }, db, fetch });

test("all pages are read, and the newest time is kept", async () => {
  const { emits, db } = await poll({
    [base]: { body: { records: [record("r1", "2024-05-01T10:00:00.000Z")], offset: "next" } },
    [`${base}&offset=next`]: { body: { records: [record("r2", "2024-05-01T09:00:00.000Z")] } },
  });
  assert.deepEqual(emits.map((emit) => emit.metadata.id), ["r2", "r1"], "the oldest first, as they are emitted");
  assert.equal(db.since, "2024-05-01T10:00:00.000Z");
});

test("only what was added since is asked for", async () => {
  const query = new URLSearchParams({ pageSize: "100", filterByFormula: 'CREATED_TIME() >= "2024-05-01"' });
  const { ok } = await poll({ [`https://api.airtable.com/v0/app1/Orders?${query}`]: { body: { records: [] } } }, { since: "2024-05-01" });
  assert.equal(ok, true);
});
