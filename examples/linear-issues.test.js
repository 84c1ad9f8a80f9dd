const assert = require("assert");
const { createHmac } = require("crypto");

const NOW = Date.parse("2024-05-01T10:00:00Z");
const deliver = ({ secret = "right", at = NOW, type = "Issue" } = {}) => {
  const body = { action: "create", type, webhookTimestamp: at, data: { identifier: "ENG-1", title: "It breaks" } };
  const bodyRaw = JSON.stringify(body);
  const headers = { "linear-signature": createHmac("sha256", secret).update(bodyRaw).digest("hex"), "linear-delivery": "d1" };
  return run({ event: { headers, body, bodyRaw }, props: { secret: "right" }, now: NOW });
};

test("an issue is emitted", async () => {
  assert.deepEqual((await deliver()).emits[0].metadata, { id: "d1", summary: "create ENG-1: It breaks" });
});

test("what is old, unsigned or no issue is not", async () => {
  assert.equal((await deliver({ at: NOW - 61_000 })).reply.status, 401);
  assert.equal((await deliver({ secret: "wrong" })).reply.status, 401);
  assert.deepEqual((await deliver({ type: "Comment" })).emits, []);
});
