// Workflows, their documents, versions and runs.

import type { Json } from "./page";

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
