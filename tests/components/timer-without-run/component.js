module.exports = { name: 'Without code of its own a source emits its ticks', version: '0.0.1', props: { timer: '$.interface.timer' } };
