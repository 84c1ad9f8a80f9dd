'use strict';
// Buffer is used in most components and in its first line of `run` as often as while loading, so it is in the base image.
Object.defineProperty(globalThis, 'Buffer', { value: internal.lazy('node/buffer').Buffer, writable: true, configurable: true });
