module.exports = {
  name: 'When something happened, as people write it',
  version: '0.0.1',
  run({ ts }) {
    this.$emit('given', { ts });
    const more = { date: new Date(5), big: 7n, wrapped: Object(9), none: undefined, invalid: new Date(NaN), far: 8.7e15, list: [5], empty: '', unclear: 'soon' };
    for (const [name, value] of Object.entries(more)) this.$emit(name, { delivery_ts: value });
  },
};
