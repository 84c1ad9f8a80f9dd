// Events of Stripe, verified with the signing secret of the endpoint: https://docs.stripe.com/webhooks#verify-manually
const { createHmac, timingSafeEqual } = require("crypto");

const TOLERANCE_SECONDS = 300;

module.exports = {
  key: "example-stripe-events",
  name: "Stripe events",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Signing secret", description: "Starts with `whsec_`" },
  },
  methods: {
    isSigned({ headers, bodyRaw }) {
      const parts = (headers["stripe-signature"] ?? "").split(",").map((part) => part.split("="));
      const time = parts.find(([name]) => name === "t")?.[1];
      if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS || !time) return false;
      const expected = createHmac("sha256", this.secret).update(`${time}.${bodyRaw}`).digest();
      return parts.some(([name, value]) => {
        const given = Buffer.from(value ?? "", "hex");
        return name === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  },
  async run(event) {
    if (!this.isSigned(event)) return this.http.respond({ status: 400, body: "wrong signature" });
    this.http.respond({ status: 200 });
    const { id, type, created } = event.body;
    // A channel for each kind, so that a subscription can be for one of them.
    this.$emit(event.body, { id, name: type, summary: type, ts: created * 1000 });
  },
};
