module.exports = {
  name: 'A timer is seen as its schedule',
  version: '0.0.1',
  props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 60 } } },
  run(event) { this.$emit({ timer: this.timer, tick: event }); },
};
