const https = require("https");
const { URLSearchParams } = require("url");

module.exports = {
  name: "New items",
  version: "0.0.1",
  dedupe: "unique",
  props: { db: "$.service.db", timer: { type: "$.interface.timer", default: { intervalSeconds: 60 } } },
  methods: {
    fetchJson(url) {
      return new Promise((resolve, reject) => {
        https.get(url, { headers: { Accept: "application/json" } }, (response) => {
          const chunks = [];
          response.on("data", (chunk) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
        }).on("error", reject);
      });
    },
  },
  async run() {
    const query = new URLSearchParams({ since: this.db.get("last") || 0 });
    const { items } = await this.fetchJson(`https://api.example.com/v1/items?${query}`);
    for (const item of items) this.$emit(item, { id: item.id, summary: item.name });
    this.db.set("last", Math.max(...items.map(({ id }) => id)));
  },
};
