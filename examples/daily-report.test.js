const assert = require("assert");

test("what comes in is counted by its kind", async () => {
  const { emits, db } = await run({ event: { method: "POST", body: { kind: "signup" } }, db: { counts: { signup: 2 } } });
  assert.deepEqual([emits, db.counts], [[], { signup: 3 }]);
});

test("the report of yesterday is emitted and counting begins anew", async () => {
  const { emits, db } = await run({ event: { timestamp: 1 }, db: { counts: { signup: 3, sale: 1 } }, now: "2024-05-02T07:00:00Z" });
  assert.deepEqual(emits[0].event, { day: "2024-05-01", total: 4, counts: { signup: 3, sale: 1 } });
  assert.deepEqual(db.counts, {});
});
