class Renamed extends Error {
  constructor(message) {
    super(message);
    this.name = 'Renamed';
  }
}

const inside = () => { throw new TypeError('two\nlines'); };
const lines = (error) => error.stack.split('\n');
const thrownBy = (work) => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

module.exports = {
  name: 'A stack begins with its error, and has the frames of the component only',
  version: '0.0.1',
  type: 'action',
  async run() {
    const changed = new Error('before');
    changed.message = 'after';
    const captured = { name: 'Captured', message: 'by hand' };
    Error.captureStackTrace(captured);
    const aborted = thrownBy(() => AbortSignal.abort().throwIfAborted());
    const all = [thrownBy(inside), new Renamed('own'), new Error(), changed, captured, thrownBy(() => JSON.parse('{')), aborted, thrownBy(() => [1].map(inside))];
    const frames = all.flatMap((error) => lines(error).filter((line) => line.startsWith('    at ')));
    const mapped = lines(all.at(-1)).slice(2).map((line) => line.trim().split(' ')[1]);
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    const bare = new Error('bare').stack;
    Error.stackTraceLimit = stackTraceLimit;
    return {
      heads: all.map((error) => lines(error)[0]),
      second: lines(all[0])[1],
      foreign: frames.filter((line) => line.includes('wellspring:') || line.includes('<input>')),
      ends: all.filter((error) => error.stack.endsWith('\n')).length,
      mapped: mapped.slice(0, 2),
      bare,
      shown: [all[1], changed].map((error) => require('util').inspect(error).split('\n')[0]),
    };
  },
};
