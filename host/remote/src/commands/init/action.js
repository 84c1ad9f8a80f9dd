/** @type {import("./wellspring").Action} */
const action = (component) => component;

module.exports = action({
  name: __NAME__,
  key: "__KEY__",
  version: "0.0.1",
  type: "action",
  props: {
    text: { type: "string", label: "Text" },
  },
  async run({ $ }) {
    $.export("length", this.text.length);
    return this.text.toUpperCase();
  },
});
