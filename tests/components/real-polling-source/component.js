const shop = require('./shop.app.js');

module.exports = {
  key: 'shop-new-orders',
  name: 'New orders',
  description: 'Emits an event for each new order, oldest first',
  version: '0.1.2',
  dedupe: 'unique',
  props: {
    shop,
    db: '$.service.db',
    timer: { type: '$.interface.timer', default: { intervalSeconds: 60 * 15 } },
    status: { propDefinition: [shop, 'status'], optional: true },
  },
  hooks: {
    async deploy() { await this.emitOrders({ limit: 2 }); },
  },
  methods: {
    _since() { return this.db.get('since') ?? 0; },
    _setSince(since) { this.db.set('since', since); },
    generateMeta({ id, number, created_at: created }) {
      return { id, summary: `Order #${number}`, ts: Date.parse(created) };
    },
    async emitOrders({ limit = Infinity } = {}) {
      let newest = this._since();
      let count = 0;
      for await (const order of this.shop.orders({ since: newest, status: this.status })) {
        if (++count > limit) break;
        newest = Math.max(newest, Date.parse(order.created_at));
        this.$emit(order, this.generateMeta(order));
      }
      this._setSince(newest);
      console.log(`${count} orders since ${new Date(this._since()).toISOString()}`);
    },
  },
  async run() { await this.emitOrders(); },
};
