exports.common = { props: {}, methods: { hello() { return 'Hello'; } }, dedupe: 'unique' };
exports.constants = require('./constants.json');
