// Apps, and the accounts that are connected to them.

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
