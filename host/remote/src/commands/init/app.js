/** @type {import("./wellspring").App} */
const app = (definition) => /** @type {any} */ (definition);

module.exports = app({
  type: "app",
  app: "__APP__",
  propDefinitions: {
    item: {
      type: "string",
      label: "Item",
      async options({ page }) {
        return this.listItems(page);
      },
    },
  },
  methods: {
    headers() {
      return { authorization: `Bearer ${this.$auth.api_key}` };
    },
    /** @param {number} page */
    async listItems(page) {
      const url = `https://example.com/items?page=${page}`;
      const response = await fetch(url, { headers: this.headers() });
      return response.json();
    },
  },
});
