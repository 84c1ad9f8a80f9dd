const assert = require("assert");
const { createHmac } = require("crypto");

const deliver = ({ secret = "right", total = "40.00" } = {}) => {
  const body = { id: 1, name: "#1001", total_price: total, currency: "EUR" };
  const bodyRaw = JSON.stringify(body);
  const headers = {
    "x-shopify-hmac-sha256": createHmac("sha256", secret).update(bodyRaw).digest("base64"),
    "x-shopify-webhook-id": "w-1",
  };
  return run({ event: { headers, body, bodyRaw }, props: { secret: "right", minimum: 10 } });
};

test("a signed order is emitted", async () => {
  const { emits } = await deliver();
  assert.deepEqual(emits[0].metadata, { id: "w-1", summary: "#1001: 40.00 EUR" });
});

test("small orders are answered and left out", async () => {
  const { emits, reply } = await deliver({ total: "9.99" });
  assert.deepEqual([emits, reply.status], [[], 200]);
});

test("a wrong signature is refused", async () => {
  assert.equal((await deliver({ secret: "wrong" })).reply.status, 401);
});
