// Events and lines of a log.

import type { Json } from "./page";

export interface EventSummary {
  id: string;
  indexed_at_ms: number;
  event: Json;
  event_truncated?: boolean;
  metadata: { emit_id: string; name: string; emitter_id: string; run_id?: string; summary?: string; id?: string; ts?: number };
}

export interface LogLine {
  id: string;
  run_id: string;
  at_ms: number;
  level: "debug" | "info" | "warn" | "error";
  message: string;
}
