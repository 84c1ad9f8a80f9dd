'use strict';
// What the shim calls. Every entry point ends by settling, with a result or with an error; none throws.
const { parse, stringify, apply, keys, Map, mapSet, mapDelete, mapForEach, then, Error } = internal.primordials;

let component;
let isLoading = false;
let rejections = new Map();

// What nothing caught fails the call, also when its own promise was fulfilled a moment before. Whether this is the error
// it fails with.
internal.fail = (error) => host.settle(false, internal.errorJson(error));

const succeed = (json) => host.settle(true, json);

// What `await` would wait for. Everything else is spared the promises, which cost as much as a short run.
const isAwaited = (value) =>
  typeof value === 'object' && value !== null && (host.isPromise(value) || typeof value.then === 'function');

// Runs `work` to the end of what it returns, and settles with `toJson` of that.
const start = (work, input, toJson) => {
  try {
    const value = work(input);
    if (isAwaited(value)) settleLater(value, toJson);
    else succeed(toJson(value));
  } catch (error) {
    internal.fail(error);
  }
};

// `await` of a promise never looks up `then`, which a component may have replaced.
const settleLater = async (value, toJson) => {
  try {
    succeed(toJson(await value));
  } catch (error) {
    internal.fail(error);
  }
};

const nothing = () => 'null';
const jsonOf = (value) => stringify(value) ?? 'null';

const requireMethod = (value, what) => {
  if (typeof value !== 'function') throw new Error(`the component has no ${what}`);
  return value;
};

const runSource = (call) => {
  const self = internal.makeInstance(component, call);
  if (typeof call.event?.body_error === 'string') internal.logLine('warn', call.event.body_error);
  // A source without `run` emits what triggered it.
  if (component.run === undefined) return self.$emit(call.event, {});
  return apply(requireMethod(component.run, 'run method'), self, [call.event]);
};

const runHook = (call) => {
  const hook = component.hooks?.[call.hook];
  if (hook === undefined) return undefined;
  return apply(requireMethod(hook, `hook named ${call.hook}`), internal.makeInstance(component, call), []);
};

const runAction = (call) => {
  const self = internal.makeInstance(component, call);
  const { $ } = self;
  const argument = { steps: call.steps ?? {}, $ };
  if (call.event !== undefined) argument.event = call.event;
  return apply(requireMethod(component.run, 'run method'), self, [argument]);
};

// The options of an inherited prop run on the app; a function as third element computes their input from earlier props.
const runOptions = (call) => {
  const self = internal.makeInstance(component, call);
  const declared = internal.propDefinition(component.props?.[call.prop]);
  if (typeof declared !== 'object' || declared === null) throw new Error(`the component has no prop named ${call.prop}`);
  const found = internal.inheritProp(declared);
  if (found.error !== undefined) throw new Error(found.error);
  const { options } = found.definition;
  if (typeof options !== 'function') return options ?? [];
  const isInherited = found.app !== undefined && found.inherited;
  const input = isInherited ? (typeof found.input === 'function' ? apply(found.input, self, [self]) : found.input) : undefined;
  const context = { page: call.page ?? 0, prevContext: call.prevContext ?? {}, query: call.query, ...input };
  const owner = isInherited ? ownerOf(self, found.app) : self;
  return apply(options, owner, [context]);
};

const ownerOf = (self, app) => {
  for (const name of keys(component.props ?? {})) if (component.props[name] === app) return self[name];
  return internal.makeApp(app.app, app);
};

const KINDS = {
  run: { work: runSource, toJson: nothing },
  hook: { work: runHook, toJson: nothing },
  action: { work: runAction, toJson: jsonOf },
  options: { work: runOptions, toJson: jsonOf },
};

const load = (text) => {
  isLoading = true;
  internal.beginLoading();
  start(loadText, text, nothing);
};

const loadText = (text) => {
  const module = internal.loadProgram(parse(text));
  // An ES module that awaits outside of functions, or imports one that does: the linker's helper leaves its end there.
  return host.isPromise(module.evaluation) ? then(module.evaluation, () => take(module.exports)) : take(module.exports);
};

const take = (exported) => {
  // ES modules turned into CommonJS keep their default export under that name.
  component = exported?.__esModule && exported.default !== undefined ? exported.default : exported;
  internal.checkComponent(component);
  internal.prepareInstance(component);
};

const invoke = (call) => {
  internal.refillRandomBytes();
  const { work, toJson } = KINDS[call.kind];
  start(work, call, toJson);
};

// Called when no job, timer or completion is left and the call has not settled.
const stall = () => internal.fail(new Error('the promise can never settle: nothing is running that could settle it'));

const noteRejection = (promise, reason, isHandled) => {
  if (isHandled) mapDelete(rejections, promise);
  else mapSet(rejections, promise, reason);
};

// Called when no promise job is left and a promise may have been rejected without a handler. As in Node, one that has none
// by now fails the run with the first reason. While a component loads it is noted only: there is no network then, and what a
// package tries in the background may fail without harm.
const checkRejections = () => {
  const unhandled = rejections;
  rejections = new Map();
  mapForEach(unhandled, (reason) => {
    if (!isLoading && internal.fail(reason)) {
      internal.logLine('error', 'A promise was rejected and nothing handles it, so the run fails: await it, or give it a catch.');
    } else {
      internal.logLine('error', `Unhandled promise rejection: ${internal.describeError(reason).stack}`);
    }
  });
};

// Called when a call that may have left something behind has settled.
const finish = () => {
  const { timers, requests } = internal.pendingWork();
  if (timers + requests > 0) {
    internal.logLine('warn', `The run ended with work still pending, which was cancelled: ${timers} timers, ${requests} requests`);
  }
  if (isLoading) internal.endLoading();
  isLoading = false;
  internal.resetTimers();
  internal.resetConsole();
};

// Set by the parts that need them: what a call brings besides its input, and what arrives from outside.
internal.beginRun = () => {};
internal.complete = () => {};

internal.entryPoints = {
  load,
  describe: () => start(internal.describe, component, (json) => json),
  invoke,
  stall,
  finish,
  noteRejection,
  checkRejections,
  // Until node/process.js brings nextTick there are none.
  runTicks: () => false,
  nextWait: () => internal.nextWait(),
  fireTimer: () => internal.fireTimer(),
  complete: (request, what, value) => internal.complete(request, what, value),
};
