const crypto = require("crypto");

module.exports = {
  name: "Verified webhook",
  version: "0.0.1",
  props: { http: "$.interface.http", secret: { type: "string", secret: true } },
  methods: {
    isValid(event) {
      const computed = `sha256=${crypto.createHmac("sha256", this.secret).update(event.bodyRaw, "utf8").digest("hex")}`;
      const given = event.headers["x-hub-signature-256"] || "";
      return computed.length === given.length && crypto.timingSafeEqual(Buffer.from(computed), Buffer.from(given));
    },
  },
  async run(event) {
    if (!this.isValid(event)) {
      console.log("signature mismatch");
      return;
    }
    this.$emit(event.body, { id: event.body.id, summary: `Verified ${event.body.id}` });
  },
};
