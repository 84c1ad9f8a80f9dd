// Orders of a Shopify shop. Shopify signs the body with the app's secret, in base64.
const { createHmac, timingSafeEqual } = require("crypto");

module.exports = {
  key: "example-shopify-orders",
  name: "Shopify orders",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Secret of the app" },
    minimum: { type: "integer", optional: true, default: 0, label: "Smallest total" },
  },
  async run({ headers, body, bodyRaw }) {
    const expected = createHmac("sha256", this.secret).update(bodyRaw).digest();
    const given = Buffer.from(headers["x-shopify-hmac-sha256"] ?? "", "base64");
    const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
    this.http.respond({ status: isSigned ? 200 : 401 });
    if (!isSigned || Number(body.total_price) < this.minimum) return;
    const id = headers["x-shopify-webhook-id"] ?? body.id;
    this.$emit(body, { id, summary: `${body.name}: ${body.total_price} ${body.currency}` });
  },
};
