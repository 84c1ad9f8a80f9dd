// All sources of the account, page by page in the background: the list, the palette and names of ids use them.

import { computed, signal } from "@preact/signals";
import { list } from "../api/client";
import type { Source } from "../api/types";

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

const FIELDS = "id,name,active,created_at,updated_at";
const NOTHING: Loaded = { rows: [], total: 0, isComplete: false };

export const sources = signal<Loaded>(NOTHING);
export const isLoaded = computed(() => sources.value.isComplete || sources.value.rows.length > 0);

const byId = computed(() => new Map(sources.value.rows.map((row) => [row.id, row])));

let generation = 0;

function rowOf(source: Source): SourceRow {
  const { id, name, active, created_at, updated_at } = source;
  return { id, name, active, created_at, updated_at, text: `${name}\n${id}`.toLowerCase() };
}

/** Reads the list anew; what is shown stays until the first page is there. */
export async function loadSources(): Promise<void> {
  const mine = ++generation;
  let rows: SourceRow[] = [];
  let after: string | undefined;
  try {
    for (;;) {
      const page = await list<Source>(`/users/me/sources?limit=100&include=${FIELDS}${after ? `&after=${after}` : ""}`);
      if (mine !== generation) return;
      rows = rows.concat(page.data.map(rowOf));
      after = page.page_info.end_cursor;
      const isComplete = page.data.length < 100 || rows.length >= page.page_info.total_count;
      // Of a long list: not after every page, since each one draws it again.
      if (isComplete || rows.length === 100 || rows.length % 1000 === 0) {
        sources.value = { rows, total: page.page_info.total_count, isComplete };
      }
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
