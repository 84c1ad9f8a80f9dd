// Users, their sessions and keys, and the audit log.

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

export interface Key {
  id: string;
  name: string | null;
  scopes: Scope[] | null;
  expires_at: number | null;
  last_used_at: number | null;
  created_at: number;
  current: boolean;
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
