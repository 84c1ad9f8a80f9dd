const assert = require("assert");

const look = (status, state) =>
  run({ props: { url: "https://example.com/" }, db: state ? { state } : {}, fetch: { "https://example.com/": { status } } });

test("a site is down after two failures in a row, and told once", async () => {
  const first = await look(500);
  const second = await look(503, first.db.state);
  const third = await look(500, second.db.state);
  assert.deepEqual([first.emits.length, second.emits.length, third.emits.length], [0, 1, 0]);
  assert.equal(second.emits[0].metadata.summary, "https://example.com/ is down: status 503");
});

test("a site that is back is told", async () => {
  const { emits, db } = await look(200, { isDown: true, failed: 5 });
  assert.equal(emits[0].metadata.summary, "https://example.com/ is up again");
  assert.deepEqual(db.state, { isDown: false, failed: 0 });
});
