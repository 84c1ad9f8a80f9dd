const { common, constants } = require('./common');
module.exports = {
  ...common,
  name: 'Files of a component, folders and JSON, and a mixin',
  version: '0.0.1',
  methods: { ...common.methods, greet() { return `${this.hello()} ${constants.subject}`; } },
  run() { this.$emit({ greeting: this.greet(), same: require('./common') === require('./common/index.js'), cached: require('./common/count.js').count() + require('./common/count.js').count() }); },
};
