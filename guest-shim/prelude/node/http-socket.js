'use strict';
// What stands where Node has a connection: packages set timeouts and options on it and listen to it.
const EventEmitter = internal.builtin('events').exports;
const { setTimeout, clearTimeout } = internal.timerFunctions;

return class Socket extends EventEmitter {
  #timer;
  #delay = 0;
  constructor({ isEncrypted, host: hostname, port }) {
    super();
    Object.assign(this, {
      connecting: false, pending: false, destroyed: false, readable: true, writable: true, readyState: 'open', encrypted: isEncrypted, authorized: isEncrypted,
      authorizationError: null, alpnProtocol: 'http/1.1', servername: hostname, remoteAddress: undefined, remotePort: port, remoteFamily: undefined,
      localAddress: undefined, localPort: undefined, bytesRead: 0, bytesWritten: 0, writableLength: 0, writableHighWaterMark: 16384, timeout: 0, _httpMessage: null,
    });
  }
  setTimeout(delay, callback) {
    this.#delay = this.timeout = Number(delay) || 0;
    if (typeof callback === 'function') this.once('timeout', callback);
    this._touch();
    return this;
  }
  // Something happened: an idle timeout starts anew.
  _touch() {
    clearTimeout(this.#timer);
    if (this.#delay > 0 && !this.destroyed) this.#timer = setTimeout(() => this.emit('timeout'), this.#delay);
  }
  _rest() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
  setKeepAlive() { return this; }
  setNoDelay() { return this; }
  setEncoding() { return this; }
  setMaxSendFragment() { return true; }
  ref() { return this; }
  unref() { return this; }
  pause() { return this; }
  resume() { return this; }
  cork() {}
  uncork() {}
  address() { return {}; }
  getPeerCertificate() { return {}; }
  getCipher() { return { name: 'TLS_AES_128_GCM_SHA256', version: 'TLSv1.3' }; }
  getProtocol() { return this.encrypted ? 'TLSv1.3' : null; }
  isSessionReused() { return false; }
  write() { throw internal.nodeErrors.unavailable('writing to a socket', 'write to the request'); }
  end() { return this; }
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this._rest();
    this._onDestroy?.(error);
    internal.process.nextTick(() => this.emit('close', error !== undefined && error !== null));
    return this;
  }
};
