const assert = require("assert");
const { createHmac } = require("crypto");

const delivery = (secret, props = {}) => {
  const body = { action: "opened", issue: { number: 7, title: "It breaks", updated_at: "2024-05-01T10:00:00Z" } };
  const bodyRaw = JSON.stringify(body);
  const signature = `sha256=${createHmac("sha256", secret).update(bodyRaw).digest("hex")}`;
  const headers = { "x-hub-signature-256": signature, "x-github-event": "issues", "x-github-delivery": "d-1" };
  return run({ event: { headers, body, bodyRaw }, props: { secret: "right", ...props } });
};

test("a signed delivery is emitted once for its id", async () => {
  const { emits, reply } = await delivery("right");
  assert.equal(reply.status, 200);
  assert.deepEqual(emits[0].metadata, { id: "d-1", summary: "opened #7: It breaks", ts: 1714557600000 });
});

test("a wrong signature is refused", async () => {
  const { emits, reply } = await delivery("wrong");
  assert.deepEqual([emits, reply.status], [[], 401]);
});

test("other actions are left out", async () => {
  assert.deepEqual((await delivery("right", { actions: ["closed"] })).emits, []);
});
