module.exports = {
  name: 'Hooks see the same instance as run',
  version: '0.0.1',
  props: { db: '$.service.db', http: '$.interface.http', topic: 'string' },
  methods: { async subscribe() { return `sub-${this.topic}`; } },
  hooks: {
    async deploy() { for (const id of [1, 2]) this.$emit({ id }, { id, ts: id }); },
    async activate() {
      this.db.set('hook', { id: await this.subscribe(), url: this.http.endpoint });
      console.log('activated');
    },
    async deactivate() {
      const { id } = this.db.get('hook');
      if (id !== 'sub-news') throw new Error(`no such subscription: ${id}`);
      this.db.set('hook');
    },
  },
  run(event) { this.$emit(event.body); },
};
