// Components, the props they declare, and those that are published.

import type { Json } from "./page";

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
