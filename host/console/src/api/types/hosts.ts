// Servers that share a store.

/** A server that shares the store. */
export interface Host {
  id: string;
  name: string;
  address: string;
  version: string;
  started_at_ms: number;
  seen_at_ms: number;
  in_flight: number;
  read_only: boolean;
  clock_offset_ms: number;
  is_this_one: boolean;
  differs_in: string[];
}
