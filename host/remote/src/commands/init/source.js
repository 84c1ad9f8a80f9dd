/** @type {import("./wellspring").Source} */
const source = (component) => component;

module.exports = source({
  name: __NAME__,
  key: "__KEY__",
  version: "0.0.1",
  props: {
__PROPS__  },
  async run(event) {
__RUN__  },
});
