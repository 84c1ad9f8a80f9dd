import type { Action, Props, Source } from "./wellspring";

const props = {
  db: "$.service.db",
  http: { type: "$.interface.http", customResponse: true },
  count: { type: "integer", optional: true },
  token: { type: "string" },
} as const satisfies Props;

// `this` and the event are those of the props.
const named = {
  name: "Named",
  version: "0.0.1",
  props,
  methods: {
    greet(name: string) {
      return this.token + name;
    },
  },
  async run(event) {
    const text: string = this.token;
    this.http.respond({ status: 200, body: this.greet(text) });
    this.$emit(event.body, { id: event.headers["x-id"] });
    // @ts-expect-error: it may be absent
    this.count.toFixed();
    // @ts-expect-error: a text has no such method
    this.token.toFixed();
    // @ts-expect-error: this is no timer
    event.timestamp;
  },
} satisfies Source<typeof props>;

// Without the props named, `this` has them without types.
const loose = {
  name: "Loose",
  version: "0.0.1",
  props: { timer: { type: "$.interface.timer", default: { intervalSeconds: 60 } } },
  async run(event) {
    this.$emit({ at: event.timestamp, again: this.timer.intervalSeconds }, { id: 1 });
    // @ts-expect-error: a summary is text
    this.$emit({}, { summary: 3 });
  },
} satisfies Source;

const unknownProp = {
  name: "Unknown",
  version: "0.0.1",
  // @ts-expect-error: there is no such type
  props: { text: { type: "text" } },
  async run() {},
} satisfies Source;

// @ts-expect-error: it has no run
const nothing = { name: "Nothing", version: "0.0.1" } satisfies Source;

const textProps = { text: "string" } as const satisfies Props;
const shout = {
  name: "Shout",
  version: "0.0.1",
  type: "action",
  props: textProps,
  async run({ $ }) {
    $.export("length", this.text.length);
    return this.text.toUpperCase();
  },
} satisfies Action<typeof textProps>;

const source: Source = (component) => component;

// As a function all of it is inferred.
export default source({
  name: "Inferred",
  version: "0.0.1",
  props: { db: "$.service.db", timer: { type: "$.interface.timer", default: { intervalSeconds: 60 } } },
  methods: {
    next(): number {
      return (this.db.get("next") ?? 0) + 1;
    },
  },
  async run(event) {
    const at: number = event.timestamp;
    this.$emit({ at, next: this.next(), named, loose, unknownProp, nothing, shout });
    // @ts-expect-error: there is no such prop
    this.http;
  },
});
