// All sources of the account, read in the background: the list, the palette and names of ids use them.

import { computed, signal } from "@preact/signals";
import { list } from "../api/client";
import type { SourceSummary } from "../api/types";

export interface SourceRow {
  id: string;
  name: string;
  active: boolean;
  created_at: number;
  updated_at: number;
  /** Lower case, for the search. */
  text: string;
}

interface Loaded {
  rows: SourceRow[];
  total: number;
  isComplete: boolean;
  error?: unknown;
}

const NOTHING: Loaded = { rows: [], total: 0, isComplete: false };

export const sources = signal<Loaded>(NOTHING);
export const isLoaded = computed(() => sources.value.isComplete || sources.value.rows.length > 0);

const byId = computed(() => new Map(sources.value.rows.map((row) => [row.id, row])));

let generation = 0;

function rowOf({ id, name, active, created_at, updated_at }: SourceSummary): SourceRow {
  return { id, name, active, created_at, updated_at, text: `${name}\n${id}`.toLowerCase() };
}

/** Reads the list anew. The first time it grows page by page; later, what is shown stays until the new list is whole. */
export async function loadSources(): Promise<void> {
  const mine = ++generation;
  const isFirst = sources.value.rows.length === 0;
  let rows: SourceRow[] = [];
  let after: string | undefined;
  try {
    for (;;) {
      const page = await list<SourceSummary>(`/users/me/source_summaries${after ? `?after=${after}` : ""}`);
      if (mine !== generation) return;
      rows = rows.concat(page.data.map(rowOf));
      after = page.page_info.end_cursor;
      const total = page.page_info.total_count;
      const isComplete = page.data.length === 0 || rows.length >= total;
      if (isComplete || isFirst) sources.value = { rows, total, isComplete };
      if (isComplete) return;
    }
  } catch (error) {
    if (mine === generation) sources.value = { ...sources.value, error };
  }
}

export function forgetSources(): void {
  generation += 1;
  sources.value = NOTHING;
}

export function nameOf(id: string): string | undefined {
  return byId.value.get(id)?.name;
}

/** The rows that hold every word of a query. */
export function searchSources(query: string, rows = sources.value.rows): SourceRow[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => words.every((word) => row.text.includes(word)));
}
