// Deployed sources, their versions, and what they keep.

import type { Json } from "./page";

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

export interface SourceSummary {
  id: string;
  name: string;
  name_slug: string;
  active: boolean;
  created_at: number;
  updated_at: number;
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

export interface StateKey {
  key: string;
  size_bytes: number;
}
