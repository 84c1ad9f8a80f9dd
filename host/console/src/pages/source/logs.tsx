// What a source wrote to its log, live.

import { useMemo, useState } from "preact/hooks";
import type { EventSummary, LogLine, Source } from "../../api/types";
import { Link } from "../../state/router";
import { LiveDot, useLiveList } from "../../ui/live";
import { At, Bones, Button, Card, Choices, CopyButton, Empty, Failure, Search, Sentinel } from "../../ui/parts";
import { Marked } from "../../ui/tree";

const idOf = (line: LogLine) => line.id;

function itemOf(event: EventSummary): LogLine {
  const line = event.event as unknown as Partial<LogLine> & { ts?: number };
  return {
    id: event.id,
    run_id: line.run_id ?? event.metadata.run_id ?? "",
    at_ms: line.at_ms ?? event.indexed_at_ms,
    level: line.level ?? "info",
    message: line.message ?? JSON.stringify(event.event),
  };
}

type Show = "all" | "warn" | "error";

const RANK = { debug: 0, info: 1, warn: 2, error: 3 };

export function LogsTab({ source }: { source: Source }) {
  const [isPaused, setPaused] = useState(false);
  const [show, setShow] = useState<Show>("all");
  const [find, setFind] = useState("");
  const live = useLiveList<LogLine>({
    list: `/sources/${source.id}/logs`,
    stream: `/sources/${source.id}/sse?event_name=%24logs`,
    idOf,
    itemOf,
    isPaused,
  });
  const word = find.trim().toLowerCase();
  const shown = useMemo(
    () => live.items?.filter((line) => (show === "all" || RANK[line.level] >= RANK[show]) && (word === "" || line.message.toLowerCase().includes(word))),
    [live.items, show, word],
  );
  return (
    <div class="stack">
      <div class="row wrap">
        <Search value={find} change={setFind} label="Search the log" />
        <Choices<Show>
          label="Level"
          value={show}
          change={setShow}
          options={[
            { value: "all", text: "All" },
            { value: "warn", text: "Warnings" },
            { value: "error", text: "Errors" },
          ]}
        />
        <span class="row push">
          <LiveDot state={live.state} />
          <Button isLittle icon={isPaused ? "run" : "pause"} onClick={() => setPaused(!isPaused)}>
            {isPaused ? (live.waiting > 0 ? `Show ${live.waiting} new` : "Resume") : "Pause"}
          </Button>
          <CopyButton says="Copy the log" text={() => (shown ?? []).map((line) => `${new Date(line.at_ms).toISOString()} ${line.level} ${line.message}`).reverse().join("\n")} />
        </span>
      </div>
      {live.error && <Failure error={live.error} retry={live.reload} />}
      <Card label="Log">
        {shown === undefined && !live.error && <Bones rows={8} />}
        {shown?.length === 0 && (
          <Empty icon="audit" title="Nothing logged">
            What the component writes with <code>console.log</code> and its siblings is here, line by line.
          </Empty>
        )}
        {shown && shown.length > 0 && (
          <div class="log" tabIndex={0} role="log" aria-label="Log lines, newest first">
            {shown.map((line) => (
              <div key={line.id} class={`entry ${line.level}`}>
                <span class="faint">
                  <At at_ms={line.at_ms} precise />
                </span>
                <span class="level">{line.level}</span>
                <span class="text">
                  <Marked text={line.message} find={word} />
                </span>
                {line.run_id && (
                  <Link class="faint tiny" to={`/runs/${line.run_id}`} aria-label="Open the run">
                    run
                  </Link>
                )}
              </div>
            ))}
            {live.hasMore && <Sentinel seen={live.more} />}
          </div>
        )}
      </Card>
    </div>
  );
}
