'use strict';
// setTimeout and its family. Timers are kept here, in a heap by due time; the host only ever hears of the next one.
const { apply, isFinite } = internal.primordials;

const MAX_DELAY_MS = 2 ** 31 - 1;

let heap = [];
let immediates = [];
let byId = new Map();
let lastId = 0;
let pendingCompletions = 0;

const isBefore = (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order);

const pushHeap = (timer) => {
  let at = heap.push(timer) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(timer, heap[parent])) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = timer;
};

const popHeap = () => {
  const first = heap[0];
  const last = heap.pop();
  if (heap.length > 0) {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child += 1;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
  }
  return first;
};

let nextOrder = 0;

class Timeout {
  constructor(callback, delay, args, isRepeating) {
    this._id = ++lastId;
    this._callback = callback;
    this._args = args;
    this._delay = isFinite(delay) && delay >= 1 && delay <= MAX_DELAY_MS ? Math.trunc(delay) : 1;
    this._isRepeating = isRepeating;
    this._isReferenced = true;
  }
  ref() { this._isReferenced = true; return this; }
  unref() { this._isReferenced = false; return this; }
  hasRef() { return this._isReferenced; }
  refresh() {
    if (byId.has(this._id)) arm(this);
    return this;
  }
  close() { cancel(this); return this; }
  [Symbol.toPrimitive]() { return this._id; }
  [Symbol.dispose]() { cancel(this); }
}

// An entry of the heap is one arming of a timer; an entry whose timer was cancelled or armed again is stale.
const arm = (timer) => {
  host.leaveSomething();
  byId.set(timer._id, timer);
  timer._armed = { due: host.elapsed() + timer._delay, order: nextOrder++, timer };
  pushHeap(timer._armed);
};

const cancel = (handle) => {
  const id = handle instanceof Timeout ? handle._id : Number(handle);
  const timer = byId.get(id);
  if (timer === undefined) return;
  byId.delete(id);
  timer._armed = undefined;
};

// Set by `async_hooks` when it is first used.
const bound = (callback) => (internal.bindAsyncContext === undefined ? callback : internal.bindAsyncContext(callback));

const schedule = (callback, delay, args, isRepeating) => {
  if (typeof callback !== 'function') throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.', TypeError);
  const timer = new Timeout(bound(callback), Number(delay), args, isRepeating);
  arm(timer);
  return timer;
};

const dropStale = () => {
  while (heap.length > 0 && heap[0].timer._armed !== heap[0]) popHeap();
};

const fire = (timer) => {
  if (timer._isRepeating) arm(timer);
  else byId.delete(timer._id);
  runCallback(timer._callback, timer, timer._args);
};

// An exception in a callback is uncaught; as in Node, it ends the run.
const runCallback = (callback, self, args) => {
  try {
    apply(callback, self, args);
  } catch (error) {
    internal.fail(error);
  }
};

internal.fireTimer = () => {
  const immediate = immediates.shift();
  if (immediate !== undefined) return runCallback(immediate.callback, undefined, immediate.args);
  dropStale();
  if (heap.length > 0) fire(popHeap().timer);
};

// Milliseconds until the next timer; Infinity when only completions can come; NaN when nothing can.
internal.nextWait = () => {
  if (immediates.length > 0) return 0;
  dropStale();
  if (heap.length > 0) return Math.max(0, heap[0].due - host.elapsed());
  return pendingCompletions > 0 ? Infinity : NaN;
};

internal.expectCompletion = () => {
  host.leaveSomething();
  pendingCompletions += 1;
};
internal.completionArrived = () => { pendingCompletions -= 1; };

// A timer that was unreferenced was never meant to be waited for.
internal.pendingWork = () => {
  let timers = immediates.length;
  for (const timer of byId.values()) if (timer._isReferenced) timers += 1;
  return { timers, requests: pendingCompletions };
};

// Nothing scheduled while a component loads outlives the loading: its clock ends there.
internal.resetTimers = () => {
  pendingCompletions = 0;
  if (heap.length + immediates.length + byId.size === 0) return;
  heap = [];
  immediates = [];
  byId = new Map();
};

class Immediate {
  constructor(callback, args) {
    this.callback = callback;
    this.args = args;
  }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
}

internal.timerFunctions = {
  setTimeout: (callback, delay, ...args) => schedule(callback, delay, args, false),
  setInterval: (callback, delay, ...args) => schedule(callback, delay, args, true),
  setImmediate: (callback, ...args) => {
    if (typeof callback !== 'function') throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.', TypeError);
    const immediate = new Immediate(bound(callback), args);
    host.leaveSomething();
    immediates.push(immediate);
    return immediate;
  },
  clearTimeout: (handle) => { if (handle !== undefined && handle !== null) cancel(handle); },
  clearInterval: (handle) => { if (handle !== undefined && handle !== null) cancel(handle); },
  clearImmediate: (handle) => {
    const at = immediates.indexOf(handle);
    if (at >= 0) immediates.splice(at, 1);
  },
};
Object.assign(globalThis, internal.timerFunctions);

const resolved = Promise.resolve();
const { then } = internal.primordials;
globalThis.queueMicrotask = (callback) => {
  if (typeof callback !== 'function') throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.', TypeError);
  const later = bound(callback);
  then(resolved, () => runCallback(later, undefined, []));
};
