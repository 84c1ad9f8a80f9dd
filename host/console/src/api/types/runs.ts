// Runs: records of them, runs by hand, trials and replays.

import type { EventSummary } from "./events";
import type { Json } from "./page";

export interface Thrown {
  code: string;
  name: string;
  message: string;
  stack?: string;
  cause?: Thrown;
}

export interface RequestMade {
  method: string;
  host: string;
  path: string;
  status?: number;
  error?: string;
  ms: number;
}

interface Listed<Item> {
  count: number;
  first: Item[];
}

export interface Run {
  id: string;
  emitter_id: string;
  version: string;
  trigger: { kind: string; id?: string };
  trace_id?: string;
  state: "success" | "error";
  queued_at_ms: number;
  started_at_ms: number;
  ended_at_ms: number;
  committed_at_ms?: number;
  fuel: number;
  cpu_us: number;
  peak_memory_bytes: number;
  sent_bytes?: number;
  received_bytes?: number;
  requests?: Listed<RequestMade>;
  emits?: Listed<string>;
  writes?: Listed<string>;
  reply_status?: number;
  error?: Thrown;
  recording?: "kept" | "truncated";
  input?: Json;
}

export interface SourceRun {
  run_id: string;
  ok: boolean;
  emitted: EventSummary[];
  emitted_count: number;
  reply?: Json;
  error?: Thrown;
  logs: { level: string; message: string }[];
  duration_ms: number;
  compute_ms: number;
}

/** What a component did before it was deployed; nothing of it is kept. */
export interface Trial {
  ok: boolean;
  emitted: { event: Json; metadata: { summary?: string; id?: string } }[];
  emitted_count: number;
  rejected: string[];
  stored: { key: string; value: Json }[];
  requests: RequestMade[];
  error?: Thrown;
  logs: { level: string; message: string }[];
  duration_ms: number;
}

export interface Replay {
  run_id: string;
  verdict: "identical" | "only_fuel" | "different" | "diverged";
  differences: { what: string; recorded: Json; replayed: Json }[];
  replayed: { [name: string]: Json };
}

export interface Shadow {
  runs: number;
  unchanged: number;
  changed: number;
  diverged: number;
  new_errors: number;
  fuel_change_percent?: number;
  details: Replay[];
}
