const assert = require("assert");

test("visits are counted", async () => {
  const { emits, db } = await run({ event: { name: "Ada" }, db: { visits: 1 } });
  assert.deepEqual(emits[0], { event: { greeting: "Hello Ada" }, metadata: { id: 2, summary: "Ada" } });
  assert.deepEqual(db, { visits: 2 });
});
