class Money {
  constructor(cents) { this.cents = cents; }
  toJSON() { return `${this.cents / 100} EUR`; }
}
module.exports = {
  name: 'An event is what JSON makes of it, at the time of the call',
  version: '0.0.1',
  run() {
    const event = { at: new Date(0), money: new Money(150), gone: undefined, call() {}, nan: NaN, list: [undefined, Symbol('x')], map: new Map([[1, 2]]), text: '\ud800 \u2028' };
    this.$emit(event);
    event.at = 'changed later';
    this.$emit();
    this.$emit(null);
    this.$emit('text', null);
    this.$emit(undefined, { id: 'x' });
  },
};
