// The shapes of the public API that the console uses; docs/api.md describes them.

export type * from "./types/accounts";
export type * from "./types/components";
export type * from "./types/deliveries";
export type * from "./types/events";
export type * from "./types/hosts";
export type * from "./types/page";
export type * from "./types/runs";
export type * from "./types/sources";
export type * from "./types/users";
export type * from "./types/workflows";
