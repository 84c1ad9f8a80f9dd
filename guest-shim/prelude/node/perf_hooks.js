'use strict';
// `perf_hooks`: the clock of the run, and empty observations.
class PerformanceObserver {
  static supportedEntryTypes = [];
  observe() {}
  disconnect() {}
  takeRecords() { return []; }
}
const fallback = { now: () => host.elapsed(), get timeOrigin() { return host.now() - host.elapsed(); }, toJSON: () => ({}) };
const performance = globalThis.performance ?? fallback;
performance.timerify ??= (fn) => fn;
performance.eventLoopUtilization ??= () => ({ idle: 0, active: 0, utilization: 0 });
performance.mark ??= (name) => ({ name, entryType: 'mark', startTime: host.elapsed(), duration: 0 });
performance.measure ??= (name) => ({ name, entryType: 'measure', startTime: 0, duration: host.elapsed() });
performance.clearMarks ??= () => {};
performance.clearMeasures ??= () => {};
performance.getEntries ??= () => [];
performance.getEntriesByName ??= () => [];
performance.getEntriesByType ??= () => [];
return {
  performance,
  PerformanceObserver,
  PerformanceEntry: globalThis.PerformanceEntry ?? class PerformanceEntry {},
  constants: {},
  monitorEventLoopDelay: () => ({ enable() {}, disable() {}, reset() {}, min: 0, max: 0, mean: 0, stddev: 0, percentile: () => 0 }),
  createHistogram: () => ({ record() {}, reset() {}, min: 0, max: 0, mean: 0, stddev: 0, percentile: () => 0 }),
};
