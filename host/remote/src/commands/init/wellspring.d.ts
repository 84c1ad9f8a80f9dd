// Types of Wellspring components, for your editor. Written by `wellspring init`; safe to write again.

/** What survives JSON. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

// ---------------------------------------------------------------------------------------------------------- props

/** A unique URL; requests to it run the source. */
export interface HttpProp {
  type: "$.interface.http";
  /** `run` answers the request itself, with `respond`. Otherwise it is answered with 200 as soon as it is safe. */
  customResponse?: boolean;
  /** Bodies arrive as they were sent, in their content encoding: for checking a signature over those bytes. */
  keepEncoding?: boolean;
  label?: string;
  description?: string;
}

/** Runs the source again and again. */
export interface TimerProp {
  type: "$.interface.timer";
  /** Five fields, in UTC unless `timezone` is given. */
  default?: { intervalSeconds: number } | { cron: string; timezone?: string };
  label?: string;
  description?: string;
}

/** A key-value store of the source's own. */
export interface DbProp {
  type: "$.service.db";
  label?: string;
  description?: string;
  /** What concurrent runs see of each other. `serializable`, the default: as if they had come one after the other. */
  isolation?: "serializable" | "none";
}

/** A key-value store that sources and workflows of the account share. */
export interface DataStoreProp {
  type: "data_store";
  label?: string;
  description?: string;
  optional?: boolean;
}

export interface OptionsQuery {
  /** From 0. */
  page: number;
  /** The `context` that the previous page returned. */
  prevContext: any;
  /** What the user has typed so far. */
  query?: string;
}

export type Option<T> = T | { label: string; value: T };
export type OptionsPage<T> = Option<T>[] | { options: Option<T>[]; context?: Json };

/** What a user is asked for. */
export interface UserProp<Name extends UserType = UserType> {
  type: Name;
  label?: string;
  /** Markdown. */
  description?: string;
  optional?: boolean;
  default?: Json;
  /** A list to choose from, or a method that finds it; in it `this` holds the values chosen so far. */
  options?: Option<any>[] | ((this: any, query: OptionsQuery) => OptionsPage<any> | Promise<OptionsPage<any>>);
  /** Never shown, kept encrypted. Strings only. */
  secret?: boolean;
  /** Integers only. */
  min?: number;
  /** Integers only. */
  max?: number;
  withLabel?: boolean;
}

/** A prop that an app defines, reused. */
export interface DefinedProp {
  propDefinition: [app: any, name: string, inputs?: ((props: any) => any) | object];
  label?: string;
  description?: string;
  optional?: boolean;
  default?: Json;
  options?: UserProp["options"];
}

/** An app: credentials, props and methods that components share. */
export interface AppProp {
  type: "app";
  /** The slug of an app that is registered on the server. */
  app: string;
  propDefinitions?: Record<string, any>;
  methods?: Record<string, (...values: any[]) => any>;
}

interface Values {
  string: string;
  "string[]": string[];
  integer: number;
  "integer[]": number[];
  boolean: boolean;
  "boolean[]": boolean[];
  object: Record<string, any>;
  any: any;
  "$.interface.http": Http;
  "$.interface.timer": Timer;
  "$.service.db": Db;
  data_store: DataStore;
}

export type UserType = Exclude<keyof Values, `$.${string}` | "data_store">;
export type Prop = UserProp | HttpProp | TimerProp | DbProp | DataStoreProp | AppProp | DefinedProp | keyof Values;
export type Props = Record<string, Prop>;

// ------------------------------------------------------------------------------------------------ what `this` holds

type HeaderValue = string | number | readonly string[] | null | undefined;
export interface Reply {
  status: number;
  headers?: Record<string, HeaderValue> | Iterable<readonly [string, HeaderValue]> | undefined;
  /** Text, bytes, `URLSearchParams`, or what is sent as JSON. */
  body?: unknown;
}

/** `this.http` */
export interface Http {
  /** The URL of this interface. */
  readonly endpoint: string;
  /** Answers the request; with `customResponse` only. */
  respond(response: Reply): void;
}

/** `this.<prop>` of a `data_store`. Part of the run: what was read still holds when the run is committed. */
export interface DataStore {
  get(key: string): Promise<any>;
  /** `ttl` is in seconds. */
  set(key: string, value: any, options?: { ttl?: number }): Promise<void>;
  has(key: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  /** Another time to live, or none with `null`; whether there is such a key. */
  setTtl(key: string, ttl: number | null): Promise<boolean>;
  keys(): Promise<string[]>;
  entries(): Promise<[string, any][]>;
  clear(): Promise<void>;
  [Symbol.asyncIterator](): AsyncIterableIterator<[string, any]>;
}

/** `this.timer` */
export interface Timer {
  readonly intervalSeconds?: number;
  readonly cron?: string;
}

/** `this.db`: keeps what survives JSON, between runs and for this source alone. */
export interface Db {
  /** The value, or undefined when there is none. */
  get(key: string): any;
  /** `undefined` removes it. Kept when the run ends, or before a request leaves it. */
  set(key: string, value: Json | undefined | object): void;
}

export interface EmitMetadata {
  /** Required with `dedupe`: what makes the event the same as an earlier one. */
  id?: string | number | undefined;
  /** A channel to emit to, instead of the default one. */
  name?: string | undefined;
  /** Shown in lists of events. */
  summary?: string | undefined;
  /** When it happened: epoch milliseconds, a date, or its text. Events of a run are emitted from the oldest to the newest. */
  ts?: number | Date | string | undefined;
}

export interface Emitter {
  /** Emits an event: kept, deduplicated, and delivered to the subscriptions of the source. */
  $emit(event?: unknown, metadata?: EmitMetadata): void;
}

type IsAny<T> = 0 extends 1 & T ? true : false;
type NameOf<P> = P extends { type: infer Name } ? Name : P;
type AppOf<A extends AppProp> = { $auth: Record<string, string> } & (A["methods"] extends object ? A["methods"] : {});
type ValueOf<P> = P extends AppProp
  ? AppOf<P>
  : P extends DefinedProp
    ? any
    : NameOf<P> extends infer Name extends keyof Values
      ? P extends { optional: true }
        ? Values[Name] | undefined
        : Values[Name]
      : any;
/** Props that are not known by name have values without types. */
type ValuesOf<P> = string extends keyof P ? Record<string, any> : { readonly [Name in keyof P]: ValueOf<P[Name]> };

/** Methods that are not named can be called all the same, without types. */
type MethodsOf<M> = IsAny<M> extends true ? Record<string, any> : M;

export type SourceInstance<P, M> = ValuesOf<P> & MethodsOf<M> & Emitter;
export type ActionInstance<P, M> = ValuesOf<P> & MethodsOf<M>;

// ---------------------------------------------------------------------------------------------------------- events

/** What `run` gets for a request. */
export interface HttpEvent {
  method: string;
  path: string;
  url: string;
  query: Record<string, any>;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** As it came, without its content encoding; base64 when `is_base64`. */
  bodyRaw: string;
  /** JSON and forms are parsed; anything else is the text. */
  body: any;
  /** There when the body is not what its content type says: why, and where in it. `body` is then the text. */
  body_error?: string;
  client_ip: string;
  /** The prop whose endpoint the request was sent to. */
  interface: string;
  is_base64?: boolean;
}

/** What `run` gets from a timer. */
export interface TimerEvent {
  /** Epoch seconds. */
  timestamp: number;
  interval_seconds?: number;
  cron?: string;
}

type Interfaces<P> = NameOf<P[keyof P]>;
type EventOf<P> =
  string extends keyof P
    ? any
    : "$.interface.http" extends Interfaces<P>
      ? "$.interface.timer" extends Interfaces<P>
        ? Partial<HttpEvent> & Partial<TimerEvent>
        : HttpEvent
      : "$.interface.timer" extends Interfaces<P>
        ? TimerEvent
        : any;

// ------------------------------------------------------------------------------------------------------ components

interface Common<P, M> {
  /** Shown to people; becomes the slug of sources. */
  name: string;
  /** Unique within your account. */
  key?: string;
  version: string;
  description?: string;
  /** Nothing a run did counts unless it returns. */
  atomic?: boolean;
  props?: P;
  /** Called as `this.<name>()`. */
  methods?: M;
}

type Methods = Record<string, (...values: any[]) => any>;

type SourceComponent<P, M> = Common<P, M> & {
  type?: "source";
  /** Which events with the same `id` are dropped. */
  dedupe?: "unique" | "greatest" | "last";
  hooks?: {
    /** Once, when the source is deployed: the place to emit what is already there. */
    deploy?(): unknown;
    /** After deploy and every update: the place to subscribe at another service. */
    activate?(): unknown;
    /** Before an update, a deactivation and a deletion. */
    deactivate?(): unknown;
  };
  run(event: EventOf<P>): unknown;
} & ThisType<SourceInstance<P, M>>;

/**
 * Receives or polls, and emits events.
 *
 * As a function, `this` is inferred: `const source: Source = (component) => component;`, then `source({ … })`. Without one, name
 * the props: `export default { props, … } satisfies Source<typeof props>`.
 */
export type Source<P extends Props = Props, M = any> =
  | (<const P extends Props, M extends Methods = {}>(component: SourceComponent<P, M>) => object)
  | SourceComponent<P, M>;

export interface ActionContext {
  /** A named result for later steps. */
  export(name: string, value: unknown): void;
  respond(response: Reply): void;
  flow: { exit(reason?: string): unknown };
  send: Record<"http" | "email" | "s3" | "emit" | "sse", (parameters: any) => void>;
}

type ActionComponent<P, M> = Common<P, M> & {
  type: "action";
  run(input: { $: ActionContext; steps: Record<string, any> }): unknown;
} & ThisType<ActionInstance<P, M>>;

/** Runs as a step and returns data. A function or `satisfies Action<typeof props>`, as with `Source`. */
export type Action<P extends Props = Props, M = any> =
  | (<const P extends Props, M extends Methods = {}>(component: ActionComponent<P, M>) => object)
  | ActionComponent<P, M>;

/** Shared by components, as a prop of each. */
export type App = <M extends Methods = {}>(
  app: {
    type: "app";
    app: string;
    propDefinitions?: Record<string, UserProp & ThisType<any>>;
    methods?: M;
  } & ThisType<{ $auth: Record<string, string> } & M>,
) => { type: "app"; app: string; methods: M };
