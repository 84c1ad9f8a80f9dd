module.exports = {
  name: 'What cannot work loads, and says so when it is used',
  version: '0.0.1',
  type: 'action',
  async run() {
    const message = (work) => { try { work(); return 'none'; } catch (error) { return error.message; } };
    let code;
    try { require('net').createServer(); } catch (error) { code = error.code; }
    return {
      net: message(() => require('net').connect(80, 'example.com')), socket: message(() => new (require('net').Socket)()), child: message(() => require('child_process').execSync('ls')), server: message(() => require('http').createServer()),
      dns: await new Promise((resolve) => require('dns').lookup('example.com', (error) => resolve(error.code))), worker: message(() => new (require('worker_threads').Worker)('x')), vm: message(() => require('vm').runInNewContext('1')), code, dgram: message(() => require('dgram').createSocket('udp4')),
      loads: ['child_process', 'cluster', 'dgram', 'dns', 'domain', 'http2', 'inspector', 'net', 'repl', 'tls', 'trace_events', 'worker_threads'].filter((name) => typeof require(name) === 'object'),
    };
  },
};
