const app = {
  type: 'app',
  app: 'slack',
  propDefinitions: {},
  methods: {
    name() { return this.app; },
    async later(value) { return `${this.name()} ${value}`; },
    key() { return this.$auth.api_key; },
  },
};
module.exports = {
  name: 'Methods act on their own object, however they are called',
  version: '0.0.1',
  props: { slack: app, prefix: 'string' },
  methods: {
    decorate(value) { return `${this.prefix}${value}`; },
    constant: 42,
  },
  async run() {
    const { decorate } = this;
    const { name } = this.slack;
    const later = this.slack.later.bind(this);
    this.$emit({
      mapped: ['a', 'b'].map(this.decorate),
      loose: decorate('c'),
      name: name(),
      rebound: await later('x'),
      key: this.slack.key(),
      own: this.slack.$auth,
      constant: this.constant,
    });
  },
};
