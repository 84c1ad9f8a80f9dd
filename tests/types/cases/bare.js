/** @type {import("./wellspring").Source} */
const source = (component) => component;

module.exports = source({
  name: "Bare",
  version: "0.0.1",
  async run(event) {
    this.$emit(event, { id: 1 });
  },
});
