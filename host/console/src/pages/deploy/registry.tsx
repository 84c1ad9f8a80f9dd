// The components that the operator published to all users, to find and pick one.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, list } from "../../api/client";
import type { RegistryEntry } from "../../api/types";
import { Badge, Bones, Card, Empty, Failure, Search } from "../../ui/parts";

/** Pages that are read: a hundred entries each. */
const PAGES = 50;
/** Rows that are drawn at once; more words find the rest. */
const SHOWN = 100;

export function RegistryPicker({ picked, pick }: { picked: string | undefined; pick: (entry: RegistryEntry) => void }) {
  const [entries, setEntries] = useState<RegistryEntry[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [find, setFind] = useState("");
  useEffect(() => {
    let isOver = false;
    // Sources alone: an action is a step of a workflow.
    readRegistry()
      .then((all) => !isOver && setEntries(all.filter((entry) => entry.type === "source")))
      .catch((failed: unknown) => !isOver && setError(failed instanceof ApiError ? failed : new ApiError(0, "unknown", String(failed))));
    return () => {
      isOver = true;
    };
  }, []);
  const found = useMemo(() => {
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    return entries?.filter((entry) => words.every((word) => textOf(entry).includes(word)));
  }, [entries, find]);
  return (
    <div class="stack">
      <Search value={find} change={setFind} label="Search the registry" placeholder="Search by app, name or key" />
      {error && <Failure error={error} />}
      <Card label="The registry">
        {!found && !error && <Bones rows={6} />}
        {entries?.length === 0 && (
          <Empty icon="app" title="Nothing is published">
            The operator publishes components with <code>wellspring publish --registry</code>. Until then, write one or give its address.
          </Empty>
        )}
        {entries && entries.length > 0 && found?.length === 0 && (
          <Empty icon="search" title="Nothing fits">
            None of the {entries.length} published sources holds “{find.trim()}”.
          </Empty>
        )}
        <div class="lines">
          {found?.slice(0, SHOWN).map((entry) => (
            <button type="button" class="line" key={entry.key} aria-pressed={entry.key === picked} onClick={() => pick(entry)}>
              <span class="grow">
                <span class="cut name">{entry.name}</span>
                <span class="cut tiny faint">{entry.description ?? entry.key}</span>
              </span>
              {entry.apps.map((app) => (
                <Badge key={app}>{app}</Badge>
              ))}
              <span class="tiny faint number">{entry.version}</span>
            </button>
          ))}
        </div>
        {found && found.length > SHOWN && <p class="body tiny faint">{found.length - SHOWN} more fit; add a word to find them.</p>}
      </Card>
    </div>
  );
}

export async function readRegistry(): Promise<RegistryEntry[]> {
  const found: RegistryEntry[] = [];
  let after = "";
  for (let page = 0; page < PAGES; page += 1) {
    const answer = await list<RegistryEntry>(`/registry?limit=100${after && `&after=${after}`}`);
    found.push(...answer.data);
    if (answer.page_info.count < 100) break;
    after = answer.page_info.end_cursor;
  }
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

function textOf(entry: RegistryEntry): string {
  return `${entry.name}\n${entry.key}\n${entry.description ?? ""}\n${entry.apps.join(" ")}`.toLowerCase();
}
