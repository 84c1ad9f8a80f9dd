// The runs of everything in the account.

import { useEffect, useState } from "preact/hooks";
import { list, query } from "../api/client";
import type { Run } from "../api/types";
import { usePage } from "../state/resource";
import { search, setSearch } from "../state/router";
import { Bones, Card, Choices, Empty, Failure, PageHead, Sentinel } from "../ui/parts";
import { RunLine } from "../ui/runs";

type Show = "all" | "success" | "error";

export function Runs() {
  const show = (search.value.get("state") ?? "all") as Show;
  const trace = search.value.get("trace") ?? undefined;
  const path = `/runs${query({ limit: 100, state: show === "all" ? undefined : show, trace_id: trace })}`;
  const runs = usePage<Run>(path, { every_ms: 5000 });
  const [older, setOlder] = useState<Run[]>([]);
  const [isEnd, setEnd] = useState(false);
  useEffect(() => {
    setOlder([]);
    setEnd(false);
  }, [path]);
  const known = new Set<string>();
  const shown = [...(runs.data?.data ?? []), ...older].filter((run) => !known.has(run.id) && known.add(run.id));
  const more = () => {
    const last = shown.at(-1);
    if (!last || isEnd || shown.length < 100) return;
    setEnd(true);
    void list<Run>(`${path}&after=${last.id}`).then((page) => {
      setOlder((before) => [...before, ...page.data]);
      setEnd(page.data.length < 100);
    });
  };
  return (
    <div class="page">
      <PageHead title="Runs" says={trace ? <span>Everything that one trigger caused · trace <span class="mono tiny">{trace}</span></span> : "Of all sources and workflows, newest first"} crumbs={trace ? [{ to: "/runs", text: "Runs" }] : undefined} />
      <div class="row wrap">
        <Choices<Show>
          label="Outcome"
          value={show}
          change={(value) => setSearch({ state: value === "all" ? undefined : value })}
          options={[
            { value: "all", text: "All" },
            { value: "success", text: "Success" },
            { value: "error", text: "Error" },
          ]}
        />
      </div>
      {runs.error && <Failure error={runs.error} retry={() => void runs.reload()} />}
      <Card label="Runs">
        {!runs.data && !runs.error && <Bones rows={8} />}
        {runs.data && shown.length === 0 && (
          <Empty icon="run" title={show === "error" ? "No failed runs" : "No runs yet"}>
            Each time a component runs, a record of it is here: what started it, what it did, and how it ended.
          </Empty>
        )}
        <div class="lines">
          {shown.map((run) => (
            <RunLine key={run.id} run={run} showsSource />
          ))}
        </div>
        {shown.length >= 100 && !isEnd && <Sentinel seen={more} />}
      </Card>
    </div>
  );
}
