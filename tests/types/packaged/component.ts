// The same definitions from the npm package of `release/npm`, in projects that have a package.json.
/// <reference types="wellspring-types/globals" />
import type { Action, Props, Source } from "wellspring-types";

const props = { http: "$.interface.http", db: "$.service.db", token: { type: "string" } } as const satisfies Props;

export const source = {
  name: "Packaged",
  version: "0.0.1",
  props,
  run(event) {
    const seen: string = this.token;
    this.db.set("seen", Buffer.from(seen).length);
    this.$emit(event.body, { id: 1 });
    // @ts-expect-error: a text has no such method
    this.token.toFixed();
  },
} satisfies Source<typeof props>;

export const action = {
  name: "Act",
  version: "0.0.1",
  type: "action",
  props: { text: "string" },
  async run({ $ }) {
    $.export("$summary", "done");
    // @ts-expect-error: there is no such destination
    $.send.carrier_pigeon({});
  },
} satisfies Action<{ text: "string" }>;
