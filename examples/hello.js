module.exports = {
  name: "Hello",
  version: "0.0.1",
  props: { db: "$.service.db" },
  async run(event) {
    const visits = (this.db.get("visits") || 0) + 1;
    this.db.set("visits", visits);
    console.log(`visit ${visits} by ${event.name}`);
    this.$emit({ greeting: `Hello ${event.name}` }, { id: visits, summary: event.name });
  },
};
