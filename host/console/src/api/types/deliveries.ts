// Webhooks, subscriptions, and attempts to deliver to them.

import type { Json } from "./page";

export interface Webhook {
  id: string;
  name: string | null;
  description: string | null;
  url: string;
  active: boolean;
  inactive_reason: string | null;
  paused_at_ms: number | null;
  signing_secret?: string;
  created_at: number;
  updated_at: number;
  previous_secret_expires_at?: number | null;
  health?: {
    last_success_ms?: number;
    last_failure?: { at_ms: number; status?: number; error?: string };
    failing_since_ms?: number;
    pending: number;
    pending_is_partial: boolean;
  };
}

export interface DeliveryAttempt {
  id: string;
  at_ms: number;
  emit_id: string;
  emitter_id: string;
  event_name: string;
  attempt: number;
  state: "delivered" | "failing" | "given_up";
  status?: number;
  excerpt?: string;
  error?: string;
  ms: number;
  next_attempt_ms?: number;
}

export interface PendingDelivery {
  listener_id: string;
  emitter_id: string;
  event_name: string;
  emit_id: string;
  state: "pending" | "failing" | "paused";
  attempts: number;
  next_attempt_ms: number;
  behind: number;
}

export interface DeadLetter {
  id: string;
  emitter: string;
  listener: string;
  event_name: string;
  event_id: string;
  attempts: number;
  reason: string;
  event: Json;
  created_at: number;
}

export interface Redelivered {
  event_id: string;
  listeners: string[];
}

export interface Subscription {
  id: string;
  emitter_id: string;
  listener_id: string;
  event_name: string;
}
