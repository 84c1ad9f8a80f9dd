'use strict';
// performance: the clock of the run, with marks and measures.
const { EventTarget } = internal.lazy('web/events');
const { DOMException } = internal.lazy('web/dom-exception');

class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail) {
    Object.assign(this, { name, entryType, startTime, duration, detail });
  }
  toJSON() { return { ...this }; }
}
class PerformanceMark extends PerformanceEntry {
  constructor(name, options = {}) {
    super(String(name), 'mark', options?.startTime ?? host.elapsed(), 0, options?.detail ?? null);
  }
}
class PerformanceMeasure extends PerformanceEntry {}

let entries = [];

const timeOf = (given, otherwise) => {
  if (given === undefined) return otherwise;
  if (typeof given === 'number') return given;
  const mark = entries.findLast((entry) => entry.entryType === 'mark' && entry.name === String(given));
  if (mark === undefined) throw new DOMException(`The "${given}" performance mark has not been set`, 'SyntaxError');
  return mark.startTime;
};

class Performance extends EventTarget {
  now() { return host.elapsed(); }
  get timeOrigin() { return host.now() - host.elapsed(); }

  mark(name, options) {
    const mark = new PerformanceMark(name, options);
    entries.push(mark);
    return mark;
  }

  measure(name, startOrOptions, endMark) {
    const options = typeof startOrOptions === 'object' && startOrOptions !== null ? startOrOptions : { start: startOrOptions, end: endMark };
    const hasDuration = options.duration !== undefined;
    const end = options.end === undefined && hasDuration ? timeOf(options.start, 0) + options.duration : timeOf(options.end, host.elapsed());
    const start = options.start === undefined && hasDuration ? end - options.duration : timeOf(options.start, 0);
    const measure = new PerformanceMeasure(String(name), 'measure', start, end - start, options.detail ?? null);
    entries.push(measure);
    return measure;
  }

  clearMarks(name) { entries = entries.filter((entry) => entry.entryType !== 'mark' || (name !== undefined && entry.name !== name)); }
  clearMeasures(name) { entries = entries.filter((entry) => entry.entryType !== 'measure' || (name !== undefined && entry.name !== name)); }
  getEntries() { return [...entries].sort((a, b) => a.startTime - b.startTime); }
  getEntriesByName(name, type) { return this.getEntries().filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)); }
  getEntriesByType(type) { return this.getEntries().filter((entry) => entry.entryType === type); }
  toJSON() { return { timeOrigin: this.timeOrigin }; }
  get [Symbol.toStringTag]() { return 'Performance'; }
}

return { performance: new Performance(), Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure };
