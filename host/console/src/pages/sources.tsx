// All sources: found as fast as one types, and drawn only where one looks.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Run } from "../api/types";
import { usePage } from "../state/resource";
import { Link, search, setSearch } from "../state/router";
import { may } from "../state/session";
import { isLoaded, loadSources, searchSources, sources, type SourceRow } from "../state/sources";
import { count, plural } from "../state/time";
import { Ago, Badge, Bones, ButtonLink, Card, Choices, Empty, Failure, PageHead, Search } from "../ui/parts";
import { Spark } from "../ui/spark";

type Filter = "all" | "failing" | "active" | "paused";

const ROW_PX = 53;

export function Sources() {
  const [text, setText] = useState(search.value.get("q") ?? "");
  const filter = (search.value.get("show") ?? "all") as Filter;
  const runs = usePage<Run>("/runs?limit=100", { every_ms: 15_000 });
  const recent = useMemo(() => bySource(runs.data?.data ?? []), [runs.data]);
  useEffect(() => {
    void loadSources();
  }, []);
  const rows = useMemo(() => searchSources(text).filter((row) => fits(row, filter, recent)), [text, filter, recent, sources.value]);
  const { total, isComplete, error } = sources.value;
  const hasNone = isComplete && total === 0;
  return (
    <div class="page">
      <PageHead
        title="Sources"
        says={isLoaded.value && total > 0 ? `${plural(total, "source")}${isComplete ? "" : ", still loading"}` : "Components that run and emit events"}
        actions={
          may("deploy") && (
            <ButtonLink to="/sources/new" tone="primary" icon="plus">
              Deploy a source
            </ButtonLink>
          )
        }
      />
      {error instanceof ApiError && <Failure error={error} retry={() => void loadSources()} />}
      {hasNone ? (
        <Card>
          <Empty
            icon="source"
            title="No sources yet"
            action={
              may("deploy") && (
                <ButtonLink to="/sources/new" tone="primary" icon="plus">
                  Deploy the first one
                </ButtonLink>
              )
            }
          >
            A source is a small piece of JavaScript that is run by a request or a timer, and emits events. Begin with an example; it takes a minute.
          </Empty>
        </Card>
      ) : (
        <div class="stack">
          <div class="row wrap">
            <Search
              value={text}
              change={(value) => {
                setText(value);
                setSearch({ q: value });
              }}
              label="Search sources"
              placeholder="Search by name or id"
            />
            <Choices<Filter>
              label="Show"
              value={filter}
              change={(value) => setSearch({ show: value === "all" ? undefined : value })}
              options={[
                { value: "all", text: "All" },
                { value: "failing", text: "Failing" },
                { value: "active", text: "Active" },
                { value: "paused", text: "Paused" },
              ]}
            />
            <span class="push tiny faint number" role="status">
              {isLoaded.value && rows.length !== total ? `${count(rows.length)} of ${count(total)}` : ""}
            </span>
          </div>
          <Card label="Sources">{isLoaded.value ? <Rows rows={rows} recent={recent} /> : <Bones rows={8} />}</Card>
        </div>
      )}
    </div>
  );
}

function bySource(runs: Run[]): Map<string, Run[]> {
  const found = new Map<string, Run[]>();
  for (const run of runs) found.set(run.emitter_id, [...(found.get(run.emitter_id) ?? []), run]);
  return found;
}

function fits(row: SourceRow, filter: Filter, recent: Map<string, Run[]>): boolean {
  if (filter === "active") return row.active;
  if (filter === "paused") return !row.active;
  if (filter === "failing") return recent.get(row.id)?.[0]?.state === "error";
  return true;
}

/** A window onto the list: a few dozen rows exist, however many there are. */
function Rows({ rows, recent }: { rows: SourceRow[]; recent: Map<string, Run[]> }) {
  const element = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 40 });
  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const top = element.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(Math.floor(-top / ROW_PX) - 10, 0);
      const to = from + Math.ceil(innerHeight / ROW_PX) + 20;
      setRange((known) => (known.from === from && known.to === to ? known : { from, to }));
    };
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    look();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
    };
  }, [rows]);
  if (rows.length === 0) {
    return <Empty icon="search" title="Nothing fits">No source has all of these words in its name or id.</Empty>;
  }
  const from = Math.min(range.from, Math.max(rows.length - 1, 0));
  const shown = rows.slice(from, range.to);
  return (
    <div ref={element} class="lines windowed" style={{ paddingTop: `${from * ROW_PX}px`, paddingBottom: `${Math.max(rows.length - from - shown.length, 0) * ROW_PX}px` }}>
      {shown.map((row) => (
        <SourceLine key={row.id} row={row} runs={recent.get(row.id) ?? []} />
      ))}
    </div>
  );
}

function SourceLine({ row, runs }: { row: SourceRow; runs: Run[] }) {
  const last = runs[0];
  const tone = !row.active ? "" : last?.state === "error" ? "bad" : "good";
  return (
    <Link to={`/sources/${row.id}`} class="line source-line">
      <span class={`dot ${tone}`} />
      <span class="grow">
        <span class="cut name">{row.name}</span>
        <span class="cut tiny faint mono">{row.id}</span>
      </span>
      {!row.active && <Badge>Paused</Badge>}
      {row.active && last?.state === "error" && <Badge tone="bad">Failing</Badge>}
      <Spark runs={runs} />
      <span class="tiny faint when">{last ? <Ago at_ms={last.started_at_ms} /> : <Ago at_ms={row.created_at * 1000} />}</span>
    </Link>
  );
}
