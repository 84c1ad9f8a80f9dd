const axios = require("axios");
const { createHmac } = require("crypto");
const service = require("./service.app.js");

/** @type {import("./wellspring").Source} */
const source = (component) => component;

module.exports = source({
  name: "Poller",
  version: "0.0.1",
  props: {
    service,
    item: { propDefinition: [service, "item"] },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 60 } },
  },
  async run(event) {
    const signature = createHmac("sha256", Buffer.from(this.service.$auth.token)).digest("hex");
    await axios.get("https://example.com", { headers: { signature } });
    for (const item of await this.service.list(event.timestamp)) {
      this.$emit(item, { id: item });
    }
  },
});
