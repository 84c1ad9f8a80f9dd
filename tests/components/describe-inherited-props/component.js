const github = require('./github.app.js');
module.exports = {
  name: 'Props taken from an app',
  version: '0.0.1',
  props: {
    github,
    spare: { ...github, optional: true, label: 'Another account' },
    org: { type: 'string' },
    repo: { propDefinition: [github, 'repo', (configured) => ({ org: configured.org })], label: 'Which one', optional: true },
    db: { propDefinition: [github, 'db'] },
    missing: { propDefinition: [github, 'nothing'] },
  },
  run() {},
};
