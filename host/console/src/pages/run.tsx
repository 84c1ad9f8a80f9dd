// One run: where its time went, what it did, why it failed, and what a replay of it gives.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { LogLine, Replay, RequestMade, Run, SourceRun } from "../api/types";
import { usePage, useResource } from "../state/resource";
import { Link, navigate } from "../state/router";
import { may } from "../state/session";
import { nameOf } from "../state/sources";
import { bytes, count, duration, short } from "../state/time";
import { attempt } from "../state/toasts";
import { useWork } from "../state/work";
import { isMissing } from "../shell/routes";
import { LogLines } from "../ui/log";
import { At, Badge, Bones, Button, ButtonLink, Card, CopyButton, Empty, Failure, PageHead, type Tone } from "../ui/parts";
import { Outcome, TimeBar, triggerText } from "../ui/runs";
import { ErrorBlock } from "../ui/thrown";
import { Tree } from "../ui/tree";

export function RunPage({ id }: { id: string }) {
  const { data: run, error, reload } = useResource<Run>(`/runs/${id}`);
  const [replay, setReplay] = useState<Replay | undefined>(undefined);
  const { isBusy, error: failed, act } = useWork();
  if (error && !run) {
    return isMissing(error) ? (
      <Empty icon="run" title="No record of this run" action={<ButtonLink to="/runs">All runs</ButtonLink>}>
        Records are kept for a while only, and the run may be older.
      </Empty>
    ) : (
      <Failure error={error} retry={() => void reload()} />
    );
  }
  if (!run) {
    return (
      <div class="page">
        <PageHead title="Run" crumbs={[{ to: "/runs", text: "Runs" }]} />
        <Card>
          <Bones />
        </Card>
      </div>
    );
  }
  const again = () => act(async () => setReplay(await send<Replay>("POST", `/runs/${id}/replay`, {})));
  const retry = () =>
    attempt("It ran once more", async () => {
      const made = await send<SourceRun>("POST", `/runs/${id}/retry`);
      navigate(`/runs/${made.run_id}`);
    });
  const isSource = run.emitter_id.startsWith("dc_");
  return (
    <div class="page">
      <PageHead
        crumbs={crumbsOf(run)}
        title={triggerText(run)}
        badge={<Outcome run={run} />}
        says={
          <span class="row wrap">
            <At at_ms={run.started_at_ms} precise />
            <span class="mono tiny">{run.id}</span>
            <CopyButton text={run.id} says="Copy the id" />
          </span>
        }
        actions={
          may("write") && (
            <>
              <Button icon="replay" tone="primary" disabled={isBusy || run.recording !== "kept"} title={run.recording === "kept" ? undefined : "Only recorded runs can be replayed"} onClick={() => void again()}>
                {isBusy ? "Replaying…" : "Replay"}
              </Button>
              {isSource && (
                <Button icon="retry" disabled={run.recording === undefined} title={run.recording === undefined ? "Only recorded runs can be run again" : "Run the source on this event again, for real"} onClick={() => void retry()}>
                  Run again
                </Button>
              )}
            </>
          )
        }
      />
      <Card label="Time and cost">
        <div class="body stack loose">
          <TimeBar run={run} />
          <Facts run={run} />
        </div>
      </Card>
      {failed && <Failure error={failed} retry={() => void again()} />}
      {replay && <ReplayCard replay={replay} />}
      {run.error && (
        <Card title="Error">
          <div class="body">
            <ErrorBlock error={run.error} />
          </div>
        </Card>
      )}
      <div class="two even">
        <div class="stack">
          <Input run={run} />
          {run.emits && <Emits run={run} />}
          {run.writes && <Writes run={run} />}
        </div>
        <div class="stack">
          <Requests run={run} />
          {isSource && <Logs run={run} />}
        </div>
      </div>
    </div>
  );
}

/** The way back to what the run is of. */
function crumbsOf(run: Run): { to: string; text: string }[] {
  const id = run.emitter_id;
  if (id.startsWith("dc_")) return [{ to: "/sources", text: "Sources" }, { to: `/sources/${id}/runs`, text: nameOf(id) ?? id }];
  if (id.startsWith("p_")) return [{ to: "/workflows", text: "Workflows" }, { to: `/workflows/${id}/runs/${run.id}`, text: "Step by step" }];
  return [{ to: "/runs", text: "Runs" }];
}

function Facts({ run }: { run: Run }) {
  const facts: [string, string][] = [
    ["Version", run.version],
    ["CPU", duration(run.cpu_us / 1000)],
    ["Fuel", short(run.fuel)],
    ["Peak memory", bytes(run.peak_memory_bytes)],
    ["Events", count(run.emits?.count ?? 0)],
    ["Requests", count(run.requests?.count ?? 0)],
  ];
  if (run.sent_bytes) facts.push(["Sent", bytes(run.sent_bytes)]);
  if (run.received_bytes) facts.push(["Received", bytes(run.received_bytes)]);
  if (run.reply_status) facts.push(["Answered", String(run.reply_status)]);
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {run.trace_id && (
        <div>
          <dt>Trace</dt>
          <dd>
            <Link class="link mono tiny" to={`/runs?trace=${run.trace_id}`} title={run.trace_id}>
              {run.trace_id.slice(0, 12)}…
            </Link>
          </dd>
        </div>
      )}
    </dl>
  );
}

function Input({ run }: { run: Run }) {
  return (
    <Card title="Input" actions={run.input !== undefined && <CopyButton text={() => JSON.stringify(run.input, null, 2)} says="Copy the input" />}>
      <div class="body">{run.input === undefined ? <p class="small quiet">The event of this run was not recorded. Turn recording on in the source's settings to see it next time.</p> : <Tree value={run.input} depth={2} />}</div>
    </Card>
  );
}

function Emits({ run }: { run: Run }) {
  return (
    <Card title="Events" actions={<span class="tiny faint number">{count(run.emits?.count ?? 0)}</span>}>
      <div class="body">
        <ul class="plain-list mono tiny">
          {run.emits?.first.map((id) => (
            <li key={id}>
              <Link class="link" to={`/sources/${run.emitter_id}/events?event=${id}`}>
                {id}
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

function Writes({ run }: { run: Run }) {
  return (
    <Card title="Stored values" actions={<span class="tiny faint number">{count(run.writes?.count ?? 0)}</span>}>
      <div class="body row wrap">
        {run.writes?.first.map((key) => (
          <Badge key={key}>
            <span class="mono">{key}</span>
          </Badge>
        ))}
      </div>
    </Card>
  );
}

function statusTone(request: RequestMade): Tone {
  if (request.error || request.status === undefined || request.status >= 500) return "bad";
  return request.status >= 400 ? "warn" : "good";
}

function Requests({ run }: { run: Run }) {
  const requests = run.requests?.first ?? [];
  const longest = Math.max(...requests.map((request) => request.ms), 1);
  return (
    <Card title="Requests" actions={<span class="tiny faint number">{count(run.requests?.count ?? 0)}</span>}>
      {requests.length === 0 ? (
        <div class="body small quiet">The run asked no other service.</div>
      ) : (
        <div class="lines">
          {requests.map((request, index) => (
            <div class="line small" key={index}>
              <Badge tone={statusTone(request)}>{request.status ?? "failed"}</Badge>
              <span class="grow cut" title={`${request.host}${request.path}`}>
                <span class="mono tiny">{request.method}</span> {request.host}
                <span class="faint">{request.path}</span>
                {request.error && <span class="error-text"> {request.error}</span>}
              </span>
              <span class="meter" style={{ width: "60px" }} aria-hidden="true">
                <span style={{ width: `${(request.ms / longest) * 100}%` }} />
              </span>
              <span class="number quiet">{duration(request.ms)}</span>
            </div>
          ))}
        </div>
      )}
    </Card>
  );
}

function Logs({ run }: { run: Run }) {
  const logs = usePage<LogLine>(`/sources/${run.emitter_id}/logs?limit=100`);
  const lines = (logs.data?.data ?? []).filter((line) => line.run_id === run.id).reverse();
  if (lines.length === 0) return null;
  return (
    <Card title="Log">
      <LogLines lines={lines} label="Log of the run" />
    </Card>
  );
}

const VERDICTS: Record<Replay["verdict"], [Tone, string, string]> = {
  identical: ["good", "Identical", "The run did exactly the same again: the same events, values, requests and log."],
  only_fuel: ["good", "Same result", "The run did the same again, with another amount of work."],
  different: ["warn", "Different", "The run did something else than when it was recorded."],
  diverged: ["bad", "Diverged", "The run asked for something that was not recorded, so it could not go on."],
};

function ReplayCard({ replay }: { replay: Replay }) {
  const [tone, title, says] = VERDICTS[replay.verdict];
  const { was_cut_off: _, ...shown } = replay.replayed;
  return (
    <Card
      title="Replay"
      actions={
        <Badge tone={tone} dot>
          {title}
        </Badge>
      }
    >
      <div class="body stack" role="status">
        <p class="small quiet">{says} Nothing outside was asked, and nothing was kept.</p>
        {replay.differences.map((difference) => (
          <div key={difference.what} class="stack tight">
            <h2 class="small">{difference.what}</h2>
            <div class="diff">
              <div>
                <div class="tiny faint">recorded</div>
                <div class="block">
                  <Tree value={difference.recorded} depth={2} />
                </div>
              </div>
              <div>
                <div class="tiny faint">replayed</div>
                <div class="block">
                  <Tree value={difference.replayed} depth={2} />
                </div>
              </div>
            </div>
          </div>
        ))}
        <details>
          <summary class="small quiet">Everything the replay did</summary>
          <div class="block">
            <Tree value={shown} depth={1} />
          </div>
        </details>
      </div>
    </Card>
  );
}
