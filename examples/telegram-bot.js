// Messages to a Telegram bot. The hooks tell Telegram this source's address, and take it back when the source goes.
module.exports = {
  key: "example-telegram-bot",
  name: "Telegram bot",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    token: { type: "string", secret: true, label: "Token of the bot" },
    secret: { type: "string", secret: true, label: "A secret of your choice", description: "Letters and digits" },
  },
  methods: {
    async call(method, parameters) {
      const response = await fetch(`https://api.telegram.org/bot${this.token}/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(parameters),
      });
      const answer = await response.json();
      if (!answer.ok) throw new Error(`Telegram refused ${method}: ${answer.description}`);
      return answer.result;
    },
  },
  hooks: {
    async activate() {
      await this.call("setWebhook", { url: this.http.endpoint, secret_token: this.secret });
    },
    async deactivate() {
      await this.call("deleteWebhook", {});
    },
  },
  async run({ headers, body }) {
    if (headers["x-telegram-bot-api-secret-token"] !== this.secret) return this.http.respond({ status: 401 });
    this.http.respond({ status: 200 });
    const { message } = body;
    if (message) this.$emit(message, { id: body.update_id, summary: `${message.from?.first_name}: ${message.text ?? "…"}` });
  },
};
