// Messages and other events of a Slack workspace, from the Events API: https://api.slack.com/apis/events-api
const { createHmac, timingSafeEqual } = require("crypto");

module.exports = {
  key: "example-slack-events",
  name: "Slack events",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Signing secret of the app" },
  },
  methods: {
    isSigned({ headers, bodyRaw }) {
      const time = headers["x-slack-request-timestamp"];
      if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false;
      const expected = Buffer.from(`v0=${createHmac("sha256", this.secret).update(`v0:${time}:${bodyRaw}`).digest("hex")}`);
      const given = Buffer.from(headers["x-slack-signature"] ?? "");
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  },
  async run(event) {
    if (!this.isSigned(event)) return this.http.respond({ status: 401 });
    const { type, challenge, event_id: id, event: inner } = event.body;
    // Slack asks once whether the address is ours.
    if (type === "url_verification") return this.http.respond({ status: 200, body: challenge });
    this.http.respond({ status: 200 });
    // What bots say, this one among them, would go round in circles.
    if (inner.bot_id) return;
    this.$emit(inner, { id, summary: `${inner.type}: ${inner.text ?? ""}`.slice(0, 80) });
  },
};
