module.exports = {
  name: 'process is a small Linux process',
  version: '0.0.1',
  type: 'action',
  async run() {
    process.stdout.write('to stdout\n');
    process.stderr.write('to stderr');
    process.emitWarning('careful');
    let exit;
    try { process.exit(1); } catch (error) { exit = error.message; }
    const start = process.hrtime();
    return {
      env: process.env, platform: process.platform, version: /^v22\./.test(process.version), cwd: process.cwd(), tag: Object.prototype.toString.call(process), hrtime: [process.hrtime(start)[0] === 0, typeof process.hrtime.bigint()],
      exit, on: process.on('exit', () => {}) === process, memory: process.memoryUsage().heapUsed > 0, argv: process.argv.length,
    };
  },
};
