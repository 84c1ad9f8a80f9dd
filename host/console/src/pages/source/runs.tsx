// The runs of a source, newest first and live.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { EventSummary, Run, Source } from "../../api/types";
import { invalidate } from "../../state/resource";
import { may } from "../../state/session";
import { attempt } from "../../state/toasts";
import { LiveDot, useLiveList } from "../../ui/live";
import { Bones, Button, Card, Choices, Empty, Failure, Notice, Sentinel } from "../../ui/parts";
import { RunLine } from "../../ui/runs";

const idOf = (run: Run) => run.id;
// Runs have other ids than the stream of their records, which is ordered by the time of their commit.
const cursorOf = (run: Run) => `${run.committed_at_ms ?? run.ended_at_ms}-0`;
const itemOf = (event: EventSummary) => event.event as unknown as Run;

type Show = "all" | "success" | "error";

export function RunsTab({ source }: { source: Source }) {
  const [show, setShow] = useState<Show>("all");
  const live = useLiveList<Run>({
    list: `/sources/${source.id}/runs${show === "all" ? "" : `?state=${show}`}`,
    stream: `/sources/${source.id}/sse?event_name=%24runs`,
    idOf,
    itemOf,
    cursorOf,
    isWanted: (run) => show === "all" || run.state === show,
  });
  const shown = live.items;
  return (
    <div class="stack">
      <div class="row wrap">
        <Choices<Show>
          label="Outcome"
          value={show}
          change={setShow}
          options={[
            { value: "all", text: "All" },
            { value: "success", text: "Success" },
            { value: "error", text: "Error" },
          ]}
        />
        <span class="push" />
        <LiveDot state={live.state} />
      </div>
      {source.recording !== "all" && <RecordingNotice source={source} />}
      {live.error && <Failure error={live.error} retry={live.reload} />}
      <Card label="Runs">
        {shown === undefined && !live.error && <Bones rows={6} />}
        {shown?.length === 0 && (
          <Empty icon="run" title={show === "error" ? "No failed runs" : "No runs yet"}>
            Each run leaves a record here: what started it, what it did, what it cost and how it ended.
          </Empty>
        )}
        {shown && shown.length > 0 && (
          <div class="lines">
            {shown.map((run) => (
              <RunLine key={run.id} run={run} />
            ))}
          </div>
        )}
        {live.hasMore && <Sentinel seen={live.more} />}
      </Card>
    </div>
  );
}

/** Only recorded runs can be replayed, and by default those are the failed ones. */
function RecordingNotice({ source }: { source: Source }) {
  const said: Record<string, string> = { off: "No runs are recorded", errors: "Failed runs are recorded" };
  return (
    <Notice tone="plain">
      <div class="row wrap">
        <span>{said[source.recording ?? "errors"] ?? `Failed runs and ${source.recording} of the others are recorded`}, so that they can be replayed exactly.</span>
        {may("deploy") && (
          <span class="push">
            <Button
              isLittle
              onClick={() =>
                void attempt("Every run is recorded from now on", async () => {
                  await send("PUT", `/sources/${source.id}/recording`, { mode: "all" });
                  invalidate(`/sources/${source.id}`);
                })
              }
            >
              Record all runs
            </Button>
          </span>
        )}
      </div>
    </Notice>
  );
}
