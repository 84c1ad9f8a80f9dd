// The shapes of the public API that the console uses; docs/api.md describes them.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface PageInfo {
  total_count: number;
  count: number;
  start_cursor: string;
  end_cursor: string;
}

export interface Page<Item> {
  data: Item[];
  page_info: PageInfo;
}

export type Scope = "read" | "write" | "deploy" | "admin";

export interface Session {
  id: string;
  user_id: string;
  username: string;
  key_id: string;
  scopes: Scope[];
  created_at: number;
  expires_at: number;
  current: boolean;
}

export interface User {
  id: string;
  username: string;
  email: string;
  daily_compute_time_quota?: number;
  daily_compute_time_used?: number;
  daily_invocations_quota?: number;
  daily_invocations_used?: number;
  billing_period_start_ts?: number;
  billing_period_end_ts?: number;
  billing_period_invocations?: number;
}

export interface Source {
  id: string;
  component_id: string;
  configured_props: Record<string, Json>;
  active: boolean;
  created_at: number;
  updated_at: number;
  name: string;
  name_slug: string;
  recording?: string;
  keep_runs?: number;
  keep_runs_for_seconds?: number;
  redact?: string[];
  /** Why it cannot work: accounts that have to be connected again. */
  problems?: string[];
}

export interface SourceVersion {
  version: number;
  current: boolean;
  component_id: string;
  component_name: string;
  component_version: string;
  digest: string;
  configured_props: Record<string, Json>;
  created_at: number;
}

export interface PropOption {
  label: string;
  value: Json;
}

export interface Prop {
  name: string;
  type: string;
  label?: string;
  description?: string;
  default?: Json;
  optional?: boolean;
  secret?: boolean;
  app?: string;
  remoteOptions?: boolean;
  options?: Json[];
  min?: number;
  max?: number;
}

export interface Component {
  id: string;
  code: string;
  code_hash: string;
  name: string;
  version: string;
  type: "source" | "action";
  description?: string;
  key?: string;
  configurable_props: Prop[];
  dependencies: { name: string; version: string }[];
  notes?: { path: string; message: string }[];
  warnings?: string[];
  created_at: number;
}

/** A component that is published to all users. */
export interface RegistryEntry {
  id: string;
  key: string;
  name: string;
  version: string;
  type: "source" | "action";
  description?: string;
  apps: string[];
  updated_at: number;
}

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

/** A step as its document has it: an action, code, or a block of further steps. */
export interface Step {
  namespace: string;
  code?: string;
  file?: string;
  component_id?: string;
  component_key?: string;
  props?: { [name: string]: Json };
  if?: Branch[];
  switch?: Json;
  cases?: Branch[];
  parallel?: Record<string, Branch>;
  for_each?: Json;
  as?: string;
  concurrency?: number;
  steps?: Step[];
  filter?: Json;
  end?: Json;
}

export interface Branch {
  when?: Json;
  else?: boolean;
  value?: Json;
  default?: boolean;
  steps: Step[];
}

export interface WorkflowTrigger {
  type: string;
  id?: string;
  endpoint_url?: string;
  interval_seconds?: number;
  cron?: string;
  timezone?: string;
  source_id?: string;
  event_name?: string;
  component_key?: string;
}

export interface Workflow {
  id: string;
  name: string;
  active: boolean;
  version: number;
  triggers: WorkflowTrigger[];
  /** Left out in lists, as the settings are. */
  steps?: Step[];
  settings?: { [name: string]: Json };
  created_at: number;
  updated_at: number;
}

export interface WorkflowVersion {
  version: number;
  deployment_id: string;
  current: boolean;
  document: { [name: string]: Json };
  created_at: number;
}

export type WorkflowRunState = "queued" | "executing" | "paused" | "success" | "error" | "cancelled";

export interface WorkflowError {
  code: string;
  message: string;
  stack?: string;
}

export interface StepResult {
  namespace: string;
  iteration?: number[];
  state: WorkflowRunState;
  inputs?: Json;
  exports: Json;
  is_truncated?: boolean;
  logs: { at_ms: number; level: string; message: string }[];
  attempt: number;
  started_at_ms: number;
  ended_at_ms: number;
  fuel: number;
  error?: WorkflowError;
}

export interface WorkflowRun {
  id: string;
  state: WorkflowRunState;
  version: number;
  trigger: { kind: string; id?: string };
  queued_at_ms: number;
  started_at_ms: number;
  ended_at_ms: number | null;
  error: WorkflowError | null;
  exit_reason?: string;
  resumes_at_ms?: number;
  event?: Json;
  steps?: StepResult[];
  exports?: { [name: string]: Json };
}

export interface Key {
  id: string;
  name: string | null;
  scopes: Scope[] | null;
  expires_at: number | null;
  last_used_at: number | null;
  created_at: number;
  current: boolean;
}

export interface Account {
  id: string;
  app: string;
  name: string;
  state: "connected" | "failing" | "disconnected";
  problem?: string;
  uid?: string;
  scopes?: string[];
  expires_at?: number;
  refreshed_at?: number;
  created_at: number;
  updated_at: number;
}

export interface AccountTest {
  ok: boolean;
  message: string;
}

export interface AccountUse {
  id: string;
  name: string;
}

export interface App {
  name_slug: string;
  name: string;
  auth_type: "none" | "keys" | "oauth" | "basic" | "oauth2" | "oauth1" | "client_credentials";
  shipped: boolean;
}

/** An account that is being connected, on a page of its own. */
export interface ConnectWish {
  id: string;
  url: string;
  state: "pending" | "connected" | "failed";
  account_id?: string;
  error?: { code: string; message: string };
}

export interface AuditEntry {
  id: string;
  at_ms: number;
  user_id: string | null;
  username: string | null;
  via: "key" | "operator";
  key_id?: string;
  key_name?: string | null;
  action: string;
  ids: Record<string, string>;
  from: string | null;
  status: number;
  request_id: string | null;
}

export interface AdminUser {
  id: string;
  username: string;
  email: string;
  role: "admin" | "member";
  plan: "free" | "paid";
  created_at: number;
  api_key?: string;
  quotas?: { daily_compute_ms: number; daily_invocations: number };
}

/** A server that shares the store. */
export interface Host {
  id: string;
  name: string;
  address: string;
  version: string;
  started_at_ms: number;
  seen_at_ms: number;
  in_flight: number;
  clock_offset_ms: number;
  is_this_one: boolean;
  differs_in: string[];
}

export interface StateKey {
  key: string;
  size_bytes: number;
}
