module.exports = {
  name: 'What may be said of an event',
  version: '0.0.1',
  run() {
    this.$emit(0, { id: 12345678901234567890n });
    this.$emit(1, { id: 0, name: 'channel', summary: 'One', ts: 1700000000000, delivery_ts: 1700000001000 });
    this.$emit(2, { id: 'text', ts: NaN, delivery_ts: Infinity });
    this.$emit(3, { id: 12.5, ts: '1700000000000', summary: 7, unknown: true });
    this.$emit(4, { id: { toString: () => 'object' }, ts: new Date(5) });
    this.$emit(5, { id: null, name: undefined, summary: '' });
    // The host refuses these by the type of their id.
    for (const id of [[1], true, () => {}, Symbol('s')]) this.$emit('refused', { id });
    this.$emit(6, { id: 'quote " and \\ and \n' });
  },
};
