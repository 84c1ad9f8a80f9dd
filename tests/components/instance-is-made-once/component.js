const app = { type: 'app', app: 'shop', methods: { who() { return this.$auth.name; } } };

module.exports = {
  name: 'What is made when it loads is as if it were made for the run',
  version: '0.0.1',
  props: { clash: 'string', text: 'string', http: '$.interface.http', db: '$.service.db', shop: app, absent: 'string' },
  methods: {
    clash() { return 'the method'; },
    greet() { return `${this.text} ${this.shop.who()}`; },
  },
  run() {
    this.left = (this.left ?? 0) + 1;
    this.http.left = (this.http.left ?? 0) + 1;
    this.shop.left = (this.shop.left ?? 0) + 1;
    this.$emit({
      names: Object.keys(this),
      clash: this.clash(),
      greeting: this.greet(),
      endpoint: this.http.endpoint,
      absent: typeof this.absent,
      left: [this.left, this.http.left, this.shop.left],
      $: typeof this.$,
    });
  },
};
