'use strict';
// `readline`: lines of a stream. There is no terminal, so questions are not available.
const EventEmitter = internal.builtin('events').exports;
const { unavailable } = internal.nodeErrors;

class Interface extends EventEmitter {
  #rest = '';
  #input;
  constructor(input, output) {
    super();
    const options = typeof input?.on === 'function' ? { input, output } : input ?? {};
    this.#input = options.input;
    this.closed = false;
    if (typeof this.#input?.on !== 'function') return;
    const { StringDecoder } = internal.builtin('string_decoder').exports;
    const decoder = new StringDecoder('utf8');
    this.#input.on('data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : decoder.write(chunk)));
    this.#input.on('end', () => {
      if (this.#rest !== '') this.emit('line', this.#rest);
      this.close();
    });
    this.#input.on('error', (error) => this.emit('error', error));
  }
  #take(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.emit('line', line);
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.emit('close');
  }
  pause() { this.#input?.pause(); return this; }
  resume() { this.#input?.resume(); return this; }
  setPrompt() {}
  getPrompt() { return ''; }
  prompt() {}
  write() {}
  question() { throw unavailable('readline.question', 'a component has no terminal; use props'); }
  async *[Symbol.asyncIterator]() {
    const lines = [];
    let wake = () => {};
    this.on('line', (line) => { lines.push(line); wake(); });
    this.on('close', () => wake());
    for (;;) {
      while (lines.length > 0) yield lines.shift();
      if (this.closed) return;
      await new Promise((resolve) => { wake = resolve; });
    }
  }
}

const createInterface = (input, output) => new Interface(input, output);
const nothing = () => true;
return {
  Interface, createInterface, clearLine: nothing, clearScreenDown: nothing, cursorTo: nothing, moveCursor: nothing, emitKeypressEvents() {},
  promises: { Interface, createInterface, Readline: class Readline {} },
};
