// Issues of a GitHub repository as they are opened, closed and changed: a webhook whose signature is verified.
// In the repository: Settings, Webhooks, this source's URL, content type application/json, and the same secret.
const { createHmac, timingSafeEqual } = require("crypto");

module.exports = {
  key: "example-github-issues",
  name: "GitHub issues",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Secret of the webhook" },
    actions: { type: "string[]", optional: true, label: "Actions", description: "Only these, as `opened`; all when empty" },
  },
  methods: {
    isSigned({ headers, bodyRaw }) {
      const expected = Buffer.from(`sha256=${createHmac("sha256", this.secret).update(bodyRaw).digest("hex")}`);
      const given = Buffer.from(headers["x-hub-signature-256"] ?? "");
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  },
  async run(event) {
    if (!this.isSigned(event)) return this.http.respond({ status: 401, body: "wrong signature" });
    this.http.respond({ status: 200 });
    const { action, issue } = event.body;
    if (event.headers["x-github-event"] !== "issues" || (this.actions?.length && !this.actions.includes(action))) return;
    this.$emit(event.body, {
      id: event.headers["x-github-delivery"],
      summary: `${action} #${issue.number}: ${issue.title}`,
      ts: Date.parse(issue.updated_at),
    });
  },
};
