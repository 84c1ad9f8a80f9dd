const assert = require("assert");
const { createHmac } = require("crypto");

const NOW = 1714557600;
const deliver = (time, secret = "whsec_right") => {
  const body = { id: "evt_1", type: "invoice.paid", created: NOW };
  const bodyRaw = JSON.stringify(body);
  const signature = createHmac("sha256", secret).update(`${time}.${bodyRaw}`).digest("hex");
  const headers = { "stripe-signature": `t=${time},v1=${signature},v0=other` };
  return run({ event: { headers, body, bodyRaw }, props: { secret: "whsec_right" }, now: NOW * 1000 });
};

test("a signed event goes to the channel of its kind", async () => {
  const { emits, reply } = await deliver(NOW - 10);
  assert.equal(reply.status, 200);
  assert.deepEqual(emits[0].metadata, { id: "evt_1", name: "invoice.paid", summary: "invoice.paid", ts: NOW * 1000 });
});

test("an old event is not played again", async () => {
  assert.equal((await deliver(NOW - 301)).reply.status, 400);
});

test("a wrong signature is refused", async () => {
  assert.deepEqual((await deliver(NOW, "whsec_wrong")).emits, []);
});
