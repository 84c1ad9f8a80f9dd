// Whatever is new in a JSON API that answers with a list: say where the list is and what tells its items apart.
module.exports = {
  key: "example-json-poller",
  name: "JSON poller",
  version: "1.0.0",
  dedupe: "unique",
  props: {
    url: { type: "string", label: "Address" },
    path: { type: "string", optional: true, default: "", label: "Path to the list", description: "As `data.items`; empty when the answer is the list" },
    idField: { type: "string", optional: true, default: "id", label: "Field that tells items apart" },
    headers: { type: "object", optional: true, label: "Headers" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 5 * 60 } },
  },
  async run() {
    const response = await fetch(this.url, { headers: this.headers ?? {} });
    if (!response.ok) throw new Error(`${this.url} answered ${response.status}`);
    const steps = this.path.split(".").filter(Boolean);
    const items = steps.reduce((value, step) => value?.[step], await response.json());
    if (!Array.isArray(items)) throw new Error(`there is no list at "${this.path}"`);
    for (const item of items) {
      if (item[this.idField] === undefined) throw new Error(`an item has no "${this.idField}"`);
      this.$emit(item, { id: String(item[this.idField]) });
    }
  },
};
