/** @type {import("./wellspring").Source} */
const source = (component) => component;

module.exports = source({
  name: "Typed",
  version: "0.0.1",
  dedupe: "unique",
  props: {
    db: "$.service.db",
    http: { type: "$.interface.http", customResponse: true },
    token: { type: "string", secret: true },
    count: { type: "integer", optional: true },
    repository: {
      type: "string",
      async options({ page }) {
        return [this.token, String(page)];
      },
    },
  },
  methods: {
    /**
     * TypeScript 5.4 does not infer what a method returns from `this`.
     * @param {string} name
     * @returns {string}
     */
    greet(name) {
      return this.token + name;
    },
  },
  hooks: {
    async activate() {
      this.db.set("endpoint", this.http.endpoint);
      this.greet("hook");
    },
  },
  async run(event) {
    this.http.respond({ status: 200 });
    this.$emit(event.body, { id: event.headers["x-id"], summary: this.greet("run") });
    /** @type {number | undefined} */
    const count = this.count;
    // @ts-expect-error: it may be absent
    this.count.toFixed();
    // @ts-expect-error: there is no such prop
    this.nothing;
    // @ts-expect-error: a text has no such method
    this.token.toFixed();
    // @ts-expect-error: a summary is text
    this.$emit({}, { summary: 3 });
    // @ts-expect-error: this is no timer
    event.timestamp;
    return count;
  },
});
