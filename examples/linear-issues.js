// Issues of Linear, from its webhooks: signed, with the time in the body.
const { createHmac, timingSafeEqual } = require("crypto");

module.exports = {
  key: "example-linear-issues",
  name: "Linear issues",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Signing secret" },
  },
  async run({ headers, body, bodyRaw }) {
    const expected = createHmac("sha256", this.secret).update(bodyRaw).digest();
    const given = Buffer.from(headers["linear-signature"] ?? "", "hex");
    const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
    const isRecent = Math.abs(Date.now() - body.webhookTimestamp) < 60_000;
    this.http.respond({ status: isSigned && isRecent ? 200 : 401 });
    if (!isSigned || !isRecent || body.type !== "Issue") return;
    this.$emit(body, { id: headers["linear-delivery"], summary: `${body.action} ${body.data.identifier}: ${body.data.title}` });
  },
};
