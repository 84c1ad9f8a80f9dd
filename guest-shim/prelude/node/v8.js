'use strict';
// `v8`: values to bytes and back (in a format of our own), and numbers about a heap that is not V8's.
const { codedError } = internal;
const MEMORY_BYTES = 128 * 1024 * 1024;

// JSON with marks for what JSON lacks; `$` at the head of a key is doubled.
const pack = (value, path) => {
  if (value === undefined) return { $: 'undefined' };
  if (typeof value === 'bigint') return { $: 'bigint', value: String(value) };
  if (typeof value === 'number' && !Number.isFinite(value)) return { $: 'number', value: String(value) };
  if (typeof value === 'function' || typeof value === 'symbol') throw codedError('ERR_CANNOT_BE_CLONED', `${internal.inspect(value)} could not be cloned.`);
  if (typeof value !== 'object' || value === null) return value;
  if (path.includes(value)) throw codedError('ERR_CANNOT_BE_CLONED', 'a value that contains itself could not be cloned.');
  const deeper = [...path, value];
  if (value instanceof Date) return { $: 'date', value: +value };
  if (value instanceof RegExp) return { $: 'regexp', value: [value.source, value.flags] };
  if (value instanceof Map) return { $: 'map', value: [...value].map((entry) => pack(entry, deeper)) };
  if (value instanceof Set) return { $: 'set', value: [...value].map((item) => pack(item, deeper)) };
  if (value instanceof Error) return { $: 'error', value: [value.name, value.message, value.stack] };
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return { $: 'bytes', value: internal.Buffer.from(internal.bytesOf(value)).toString('base64') };
  if (Array.isArray(value)) return value.map((item) => pack(item, deeper));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.startsWith('$') ? `$${key}` : key, pack(item, deeper)]));
};

const UNPACK = {
  undefined: () => undefined,
  bigint: (value) => BigInt(value),
  number: (value) => Number(value),
  date: (value) => new Date(value),
  regexp: ([source, flags]) => new RegExp(source, flags),
  map: (value) => new Map(value.map(unpack)),
  set: (value) => new Set(value.map(unpack)),
  error: ([name, message, stack]) => Object.assign(new Error(message), { name, stack }),
  bytes: (value) => internal.Buffer.from(value, 'base64'),
};
const unpack = (value) => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value.$ === 'string') return UNPACK[value.$](value.value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.startsWith('$') ? key.slice(1) : key, unpack(item)]));
};

return {
  serialize: (value) => internal.Buffer.from(JSON.stringify(pack(value, []))),
  deserialize: (bytes) => unpack(JSON.parse(internal.Buffer.from(bytes).toString())),
  getHeapStatistics: () => ({ total_heap_size: MEMORY_BYTES / 2, used_heap_size: MEMORY_BYTES / 4, heap_size_limit: MEMORY_BYTES, total_available_size: MEMORY_BYTES / 2, malloced_memory: 0, external_memory: 0, number_of_native_contexts: 1 }),
  getHeapSpaceStatistics: () => [],
  getHeapCodeStatistics: () => ({}),
  cachedDataVersionTag: () => 0,
  setFlagsFromString() {},
  takeCoverage() {},
  stopCoverage() {},
  startupSnapshot: { isBuildingSnapshot: () => false },
};
