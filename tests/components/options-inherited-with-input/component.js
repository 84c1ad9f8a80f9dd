const github = require('./github.app.js');
module.exports = {
  name: 'Options of a prop taken from an app, with input from an earlier prop',
  version: '0.0.1',
  props: {
    github,
    org: 'string',
    repo: { propDefinition: [github, 'repo', ({ org }) => ({ org })] },
    plain: { propDefinition: [github, 'repo', { org: 'fixed' }] },
    own: { propDefinition: [github, 'repo'], options() { return [this.org, this.github.authorization()]; } },
    listed: { type: 'string', options: ['a', { label: 'B', value: 'b' }] },
    none: 'string',
  },
  run() {},
};
