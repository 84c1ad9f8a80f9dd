// Runs: a row of a list, their outcome, and the bar of where the time went.

import type { Run } from "../api/types";
import { Link } from "../state/router";
import { nameOf } from "../state/sources";
import { duration } from "../state/time";
import { Ago, Badge } from "./parts";
import type { IconName } from "./icon";
import { Icon } from "./icon";
import { memo } from "./memo";

const TRIGGERS: Record<string, [IconName, string]> = {
  http: ["globe", "HTTP request"],
  timer: ["clock", "Timer"],
  event: ["bolt", "Event"],
  manual: ["run", "By hand"],
  hook: ["settings", "Hook"],
  options: ["settings", "Options"],
  retry: ["retry", "Retry"],
};

export function triggerText(run: Run): string {
  return TRIGGERS[run.trigger.kind]?.[1] ?? run.trigger.kind;
}

export function Outcome({ run }: { run: Run }) {
  return run.state === "success" ? (
    <Badge tone="good" dot>
      Success
    </Badge>
  ) : (
    <Badge tone="bad" dot>
      Error
    </Badge>
  );
}

export const RunLine = memo(function RunLine({ run, showsSource = false }: { run: Run; showsSource?: boolean }) {
  const [icon] = TRIGGERS[run.trigger.kind] ?? ["run"];
  return (
    <Link to={`/runs/${run.id}`} class="line run-line">
      <span class={`dot ${run.state === "success" ? "good" : "bad"}`} />
      <span class="unseen">{run.state}</span>
      <span class="row grow">
        <span class="faint row" title={triggerText(run)}>
          <Icon name={icon} />
        </span>
        <span class="cut small">
          {showsSource ? <span class="strong">{nameOf(run.emitter_id) ?? run.emitter_id}</span> : triggerText(run)}
          {run.error ? <span class="error-text"> {run.error.message}</span> : <span class="faint"> {effects(run)}</span>}
        </span>
      </span>
      <span class="number small quiet took">{duration(run.ended_at_ms - run.started_at_ms)}</span>
      <span class="number small faint when">
        <Ago at_ms={run.started_at_ms} />
      </span>
    </Link>
  );
});

function effects(run: Run): string {
  const parts = [];
  const many = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;
  if (run.emits) parts.push(many(run.emits.count, "event"));
  if (run.requests) parts.push(many(run.requests.count, "request"));
  if (run.writes) parts.push(many(run.writes.count, "write"));
  return parts.join(" · ");
}

/** Where the time of a run went: waiting, running, and becoming durable. */
export function TimeBar({ run }: { run: Run }) {
  const committed = run.committed_at_ms ?? run.ended_at_ms;
  const parts = [
    { name: "Queued", tone: "wait", ms: Math.max(run.started_at_ms - run.queued_at_ms, 0) },
    { name: "Ran", tone: run.state === "success" ? "work" : "fail", ms: Math.max(run.ended_at_ms - run.started_at_ms, 0) },
    { name: "Committed", tone: "keep", ms: Math.max(committed - run.ended_at_ms, 0) },
  ];
  const total = Math.max(committed - run.queued_at_ms, 1);
  return (
    <figure class="timebar" aria-label={parts.map((part) => `${part.name} ${duration(part.ms)}`).join(", ")}>
      <div class="track" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.name} class={part.tone} style={{ flexGrow: String(Math.max(part.ms / total, 0.012)) }} title={`${part.name}: ${duration(part.ms)}`} />
        ))}
      </div>
      <div class="legend" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.name} class="row">
            <span class={`swatch ${part.tone}`} />
            <span class="quiet">{part.name}</span>
            <span class="number">{duration(part.ms)}</span>
          </span>
        ))}
        <span class="row push">
          <span class="quiet">In all</span>
          <span class="number">{duration(committed - run.queued_at_ms)}</span>
        </span>
      </div>
    </figure>
  );
}
