'use strict';
// Randomness that is drawn while a component loads.
//
// Every run starts from the memory that loading left, so a random value that was kept there is the same in all of them.
// Bytes that still stand where they were drawn to when loading ends are drawn anew at the start of each run, as a new process
// would: that is the pool from which packages such as uuid and nanoid take their ids, and a key or seed that is kept
// as bytes. Texts and numbers made of random values cannot be found again; the module that drew is named in a warning.
const { Uint8Array, WeakRef, Set, setAdd, setForEach, bytesSet } = internal.primordials;

// Far more than pools need; a bound on what each run draws.
const MAX_DRAWS = 256;
const MAX_BYTES = 64 * 1024;
const MAX_WARNINGS = 20;

let isLoading = false;
let drawn = [];
let drawnBytes = 0;
const refilled = [];
let drawers = new Set();
let evaluating = [];

// Bytes that were filled with random ones.
internal.noteRandomBytes = (bytes) => {
  if (!isLoading || drawn.length >= MAX_DRAWS || drawnBytes + bytes.length > MAX_BYTES) return;
  drawnBytes += bytes.length;
  drawn[drawn.length] = { buffer: new WeakRef(bytes.buffer), offset: bytes.byteOffset, copy: new Uint8Array(bytes) };
};

const viewOf = ({ buffer, offset, length }) => {
  try {
    return new Uint8Array(buffer, offset, length);
  } catch {
    // It was transferred or shrunk.
    return undefined;
  }
};

const isUntouched = (view, copy) => {
  for (let at = 0; at < copy.length; at++) if (view[at] !== copy[at]) return false;
  return true;
};

const noteDraws = () => {
  if (!isLoading || !host.takeDrew()) return;
  const module = evaluating.length > 0 ? evaluating[evaluating.length - 1] : undefined;
  if (module !== undefined && drawers.size < MAX_WARNINGS) setAdd(drawers, module);
};

internal.beginEvaluating = (path) => {
  noteDraws();
  evaluating[evaluating.length] = path;
};
internal.endEvaluating = () => {
  noteDraws();
  // What the entry started goes on when it has been evaluated.
  if (evaluating.length > 1) evaluating.length -= 1;
};

internal.beginLoading = () => {
  isLoading = true;
  host.takeDrew();
};

internal.endLoading = () => {
  noteDraws();
  isLoading = false;
  evaluating = [];
  setForEach(drawers, (path) => internal.logLine('warn', `${path} draws random values while it loads. What is kept of them is the same in every run: draw them in run, a hook or a method.`));
  drawers = new Set();
  for (let at = 0; at < drawn.length; at++) {
    const { buffer, offset, copy } = drawn[at];
    const kept = { buffer: buffer.deref(), offset, length: copy.length };
    const view = kept.buffer === undefined ? undefined : viewOf(kept);
    if (view !== undefined && isUntouched(view, copy)) refilled[refilled.length] = kept;
  }
  drawn = [];
};

internal.refillRandomBytes = () => {
  for (let at = 0; at < refilled.length; at++) {
    const view = viewOf(refilled[at]);
    if (view !== undefined) bytesSet(view, host.random(view.length));
  }
};
