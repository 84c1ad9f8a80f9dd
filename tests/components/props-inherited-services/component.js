const github = require('./github.app.js');
module.exports = {
  name: 'A store, a timer and an endpoint taken from an app',
  version: '0.0.1',
  props: { github, db: { propDefinition: [github, 'db'] }, timer: { propDefinition: [github, 'timer'] }, http: { propDefinition: [github, 'http'] } },
  run(event) {
    this.db.set('seen', (this.db.get('seen') ?? 0) + 1);
    this.$emit({ seen: this.db.get('seen'), every: this.timer.interval_seconds, endpoint: this.http.endpoint, path: event.path });
    this.http.respond({ status: 202, body: 'taken' });
  },
};
