// What was read from the API: shown at once when it is known, and read again behind it.

import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, call } from "../api/client";
import type { Page } from "../api/types";

interface State<T> {
  data?: T;
  error?: ApiError;
  isLoading: boolean;
}

export interface Resource<T> extends State<T> {
  reload: () => Promise<void>;
  /** Shows a value before it is read: what a change answered. */
  set: (data: T) => void;
}

interface Entry {
  state: Signal<State<unknown>>;
  reading?: Promise<void>;
  at: number;
}

/** Answers that are kept; the oldest goes. */
const KEPT = 200;
const entries = new Map<string, Entry>();

function entryOf(path: string): Entry {
  let entry = entries.get(path);
  if (!entry) {
    entry = { state: signal({ isLoading: true }), at: 0 };
    entries.set(path, entry);
    for (const [oldest] of entries) {
      if (entries.size <= KEPT) break;
      entries.delete(oldest);
    }
  }
  return entry;
}

function read(path: string): Promise<void> {
  const entry = entryOf(path);
  entry.reading ??= call<{ data: unknown; page_info?: unknown }>("GET", path)
    .then((answer) => {
      entry.state.value = { data: answer?.page_info ? answer : answer?.data, isLoading: false };
    })
    .catch((error: unknown) => {
      const shown = error instanceof ApiError ? error : new ApiError(0, "unknown", String(error));
      entry.state.value = { data: entry.state.value.data, error: shown, isLoading: false };
    })
    .finally(() => {
      entry.reading = undefined;
      entry.at = Date.now();
    });
  return entry.reading;
}

/** One resource, or nothing while there is no path yet. Lists come with their `page_info`. */
export function useResource<T>(path: string | undefined, options: { every_ms?: number } = {}): Resource<T> {
  const nothing = useSignal<State<unknown>>({ isLoading: true });
  const state = path === undefined ? nothing : entryOf(path).state;
  useEffect(() => {
    if (path === undefined) return undefined;
    void read(path);
    if (!options.every_ms) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void read(path);
    }, options.every_ms);
    return () => clearInterval(timer);
  }, [path, options.every_ms]);
  return {
    ...(state.value as State<T>),
    reload: () => (path === undefined ? Promise.resolve() : read(path)),
    set: (data: T) => {
      state.value = { data, isLoading: false };
    },
  };
}

export function usePage<T>(path: string | undefined, options?: { every_ms?: number }): Resource<Page<T>> {
  return useResource<Page<T>>(path, options);
}

/** Reads again whatever is known below a path, after a change of it. */
export function invalidate(...prefixes: string[]): void {
  for (const path of entries.keys()) if (prefixes.some((prefix) => path.startsWith(prefix))) void read(path);
}

/** Forgets what another account has read. */
export function forgetAll(): void {
  entries.clear();
}
