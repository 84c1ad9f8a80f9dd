// Counts what comes in by webhook, and emits one report each morning: a source with two triggers and some state.
module.exports = {
  key: "example-daily-report",
  name: "Daily report",
  version: "1.0.0",
  props: {
    http: "$.interface.http",
    morning: { type: "$.interface.timer", default: { cron: "0 7 * * *" } },
    db: "$.service.db",
  },
  async run(event) {
    const counts = this.db.get("counts") ?? {};
    if (event.method !== undefined) {
      const kind = event.body?.kind ?? "unknown";
      this.db.set("counts", { ...counts, [kind]: (counts[kind] ?? 0) + 1 });
      return;
    }
    const day = new Date(Date.now() - 24 * 3600 * 1000).toISOString().slice(0, 10);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    this.$emit({ day, total, counts }, { id: day, summary: `${day}: ${total}` });
    this.db.set("counts", {});
  },
};
