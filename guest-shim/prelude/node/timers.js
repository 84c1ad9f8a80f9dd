'use strict';
// `timers` and `timers/promises`.
const { codedError } = internal;
const { setTimeout, setImmediate, setInterval, clearTimeout, clearImmediate, clearInterval } = internal.timerFunctions;
// Evaluated for its effect: it teaches setTimeout and setImmediate how to be promised.
internal.builtin('util');

const abortError = (signal) => Object.assign(codedError('ABORT_ERR', 'The operation was aborted'), { name: 'AbortError', cause: signal.reason });

const promised = (start, stop) => (value, { signal, ref = true } = {}) => new Promise((resolve, reject) => {
  if (signal?.aborted) {
    reject(abortError(signal));
    return;
  }
  const cancel = () => {
    stop(handle);
    reject(abortError(signal));
  };
  const handle = start(() => {
    signal?.removeEventListener('abort', cancel);
    resolve(value);
  });
  if (!ref) handle.unref();
  signal?.addEventListener('abort', cancel, { once: true });
});

const promises = {
  setTimeout: (delay, value, options) => promised((done) => setTimeout(done, delay), clearTimeout)(value, options),
  setImmediate: (value, options) => promised((done) => setImmediate(done), clearImmediate)(value, options),
  async *setInterval(delay, value, options) {
    for (;;) yield promises.setTimeout(delay, value, options);
  },
  scheduler: {
    wait: (delay, options) => promises.setTimeout(delay, undefined, options),
    yield: () => promises.setImmediate(),
  },
};

return {
  setTimeout, setImmediate, setInterval, clearTimeout, clearImmediate, clearInterval, promises,
  active() {},
  enroll() {},
  unenroll() {},
};
