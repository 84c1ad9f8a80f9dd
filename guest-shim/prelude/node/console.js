'use strict';
// `new console.Console(stream)`: lines of a stream of the caller's choice.
return class Console {
  constructor(out, err) {
    const options = typeof out?.write === 'function' ? { stdout: out, stderr: err ?? out } : { stderr: out?.stdout, ...out };
    const write = (stream) => (...values) => { stream.write(`${internal.format(...values)}\n`); };
    const [log, warn] = [write(options.stdout ?? internal.process.stdout), write(options.stderr ?? internal.process.stderr)];
    Object.assign(this, {
      log, info: log, debug: log, dirxml: log, warn, error: warn, trace: warn,
      dir: (value, shown) => log(internal.inspect(value, shown)),
      table: (rows) => log(internal.inspect(rows)),
      assert: (condition, ...values) => { if (!condition) warn('Assertion failed', ...values); },
    });
    for (const name of ['count', 'countReset', 'time', 'timeEnd', 'timeLog', 'group', 'groupEnd', 'groupCollapsed', 'clear']) this[name] = globalThis.console[name];
  }
};
