// Pages of a Notion database that are new or were edited. An edited page has another id, so it is emitted again.
module.exports = {
  key: "example-notion-pages",
  name: "Notion pages",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    notion: { type: "app", app: "notion" },
    database: { type: "string", label: "Database" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 5 * 60 } },
  },
  methods: {
    title(page) {
      const property = Object.values(page.properties).find((property) => property.type === "title");
      return property?.title.map((part) => part.plain_text).join("") || "Untitled";
    },
  },
  async run() {
    const response = await fetch(`https://api.notion.com/v1/databases/${this.database}/query`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.notion.$auth.oauth_access_token}`, "notion-version": "2022-06-28", "content-type": "application/json" },
      body: JSON.stringify({ sorts: [{ timestamp: "last_edited_time", direction: "descending" }], page_size: 50 }),
    });
    if (!response.ok) throw new Error(`Notion answered ${response.status}: ${await response.text()}`);
    for (const page of (await response.json()).results.reverse()) {
      this.$emit(page, { id: `${page.id}/${page.last_edited_time}`, summary: this.title(page), ts: Date.parse(page.last_edited_time) });
    }
  },
};
