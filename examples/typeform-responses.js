// Answers to a Typeform, as an object from question to answer.
const { createHmac, timingSafeEqual } = require("crypto");

module.exports = {
  key: "example-typeform-responses",
  name: "Typeform responses",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    secret: { type: "string", secret: true, label: "Secret of the webhook" },
  },
  methods: {
    answers({ definition, answers }) {
      const titles = Object.fromEntries(definition.fields.map((field) => [field.id, field.title]));
      const value = (answer) => answer[answer.type]?.label ?? answer[answer.type]?.labels ?? answer[answer.type];
      return Object.fromEntries(answers.map((answer) => [titles[answer.field.id] ?? answer.field.id, value(answer)]));
    },
  },
  async run({ headers, body, bodyRaw }) {
    const expected = Buffer.from(`sha256=${createHmac("sha256", this.secret).update(bodyRaw).digest("base64")}`);
    const given = Buffer.from(headers["typeform-signature"] ?? "");
    const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
    this.http.respond({ status: isSigned ? 200 : 401 });
    if (!isSigned) return;
    const { token, submitted_at: at } = body.form_response;
    this.$emit(this.answers(body.form_response), { id: token, summary: `response ${token}`, ts: Date.parse(at) });
  },
};
