'use strict';
// `diagnostics_channel`.
const channels = new Map();

class Channel {
  #subscribers = [];
  constructor(name) { this.name = name; }
  get hasSubscribers() { return this.#subscribers.length > 0; }
  subscribe(listener) { this.#subscribers = [...this.#subscribers, internal.nodeErrors.requireFunction(listener, 'subscription')]; }
  unsubscribe(listener) {
    const before = this.#subscribers.length;
    this.#subscribers = this.#subscribers.filter((other) => other !== listener);
    return this.#subscribers.length < before;
  }
  publish(message) { for (const listener of this.#subscribers) listener(message, this.name); }
  bindStore() {}
  unbindStore() { return false; }
  runStores(message, callback, self, ...args) {
    this.publish(message);
    return Reflect.apply(callback, self, args);
  }
}

const channel = (name) => {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
};

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
const tracingChannel = (given) => {
  const traced = Object.fromEntries(EVENTS.map((event) => [event, typeof given === 'string' ? channel(`tracing:${given}:${event}`) : given[event]]));
  const traceSync = (callback, context = {}, self, ...args) => traced.start.runStores(context, () => {
    try {
      const result = Reflect.apply(callback, self, args);
      context.result = result;
      return result;
    } catch (error) {
      context.error = error;
      traced.error.publish(context);
      throw error;
    } finally {
      traced.end.publish(context);
    }
  });
  return {
    ...traced,
    get hasSubscribers() { return EVENTS.some((event) => traced[event].hasSubscribers); },
    subscribe: (listeners) => { for (const event of EVENTS) if (listeners[event]) traced[event].subscribe(listeners[event]); },
    unsubscribe: (listeners) => EVENTS.every((event) => !listeners[event] || traced[event].unsubscribe(listeners[event])),
    traceSync,
    tracePromise: traceSync,
    traceCallback: (callback, position, context, self, ...args) => traceSync(callback, context, self, ...args),
  };
};

return {
  Channel,
  channel,
  tracingChannel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, listener) => channel(name).subscribe(listener),
  unsubscribe: (name, listener) => channel(name).unsubscribe(listener),
};
