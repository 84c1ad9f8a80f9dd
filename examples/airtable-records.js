// Records that are added to an Airtable table, page by page. With `auth` of an account of the app `airtable`.
module.exports = {
  key: "example-airtable-records",
  name: "Airtable records",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    airtable: { type: "app", app: "airtable" },
    base: { type: "string", label: "Base", description: "Starts with `app`" },
    table: { type: "string", label: "Table" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 5 * 60 } },
    db: "$.service.db",
  },
  async run() {
    const since = this.db.get("since");
    let newest = since ?? "";
    let offset;
    do {
      const query = new URLSearchParams({ pageSize: "100" });
      if (since) query.set("filterByFormula", `CREATED_TIME() >= "${since}"`);
      if (offset) query.set("offset", offset);
      const url = `https://api.airtable.com/v0/${this.base}/${encodeURIComponent(this.table)}?${query}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${this.airtable.$auth.api_key}` } });
      if (!response.ok) throw new Error(`Airtable answered ${response.status}: ${await response.text()}`);
      const page = await response.json();
      for (const record of page.records) {
        this.$emit(record, { id: record.id, summary: record.id, ts: Date.parse(record.createdTime) });
        if (record.createdTime > newest) newest = record.createdTime;
      }
      offset = page.offset;
    } while (offset);
    this.db.set("since", newest);
  },
};
