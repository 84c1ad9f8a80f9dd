module.exports = {
  name: 'Old ways of inheriting still work',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { inherits } = require('util');
    const { Readable, Transform } = require('stream');
    const EventEmitter = require('events').EventEmitter;
    function Client() { EventEmitter.call(this); this.calls = 0; }
    inherits(Client, EventEmitter);
    Client.prototype.call = function () { this.calls += 1; this.emit('called', this.calls); return this; };
    function Doubler() { Transform.call(this, { objectMode: true }); }
    inherits(Doubler, Transform);
    Doubler.prototype._transform = function (value, encoding, done) { this.push(value * 2); done(); };
    const heard = [];
    new Client().on('called', (count) => heard.push(count)).call().call();
    const doubled = [];
    for await (const value of Readable.from([1, 2]).pipe(new Doubler())) doubled.push(value);
    const old = new Buffer('legacy');
    return { heard, doubled, old: old.toString('hex'), slow: Buffer.from(old.toJSON()).toString() };
  },
};
