/** @type {import("./wellspring").App} */
const app = (definition) => /** @type {any} */ (definition);

module.exports = app({
  type: "app",
  app: "service",
  propDefinitions: {
    item: {
      type: "string",
      async options({ page }) {
        return this.list(page);
      },
    },
  },
  methods: {
    /** @param {number} page */
    async list(page) {
      return [this.$auth.token, String(page)];
    },
  },
});
