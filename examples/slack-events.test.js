const assert = require("assert");
const { createHmac } = require("crypto");

const NOW = 1714557600;
const deliver = (body, secret = "right") => {
  const bodyRaw = JSON.stringify(body);
  const signature = `v0=${createHmac("sha256", secret).update(`v0:${NOW}:${bodyRaw}`).digest("hex")}`;
  const headers = { "x-slack-request-timestamp": String(NOW), "x-slack-signature": signature };
  return run({ event: { headers, body, bodyRaw }, props: { secret: "right" }, now: NOW * 1000 });
};
const message = (more) => ({ type: "event_callback", event_id: "Ev1", event: { type: "message", text: "hello", ...more } });

test("the address is confirmed", async () => {
  const { reply } = await deliver({ type: "url_verification", challenge: "abc" });
  assert.deepEqual([reply.status, reply.body], [200, "abc"]);
});

test("a message is emitted, and not that of a bot", async () => {
  assert.deepEqual((await deliver(message())).emits[0].metadata, { id: "Ev1", summary: "message: hello" });
  assert.deepEqual((await deliver(message({ bot_id: "B1" }))).emits, []);
});

test("a wrong signature is refused", async () => {
  assert.equal((await deliver(message(), "wrong")).reply.status, 401);
});
