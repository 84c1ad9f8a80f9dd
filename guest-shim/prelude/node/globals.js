'use strict';
// Buffer is used in most components, and in `run` as often as while loading, so it is in the base image.
Object.defineProperty(globalThis, 'Buffer', { value: internal.lazy('node/buffer').Buffer, writable: true, configurable: true });

Object.defineProperty(globalThis.console, 'Console', { get: () => internal.lazy('node/console'), configurable: true });
