// How the server does: readiness, the hosts that share its store, memory, and the numbers that tell trouble first.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { Metrics, readMetrics, readReadiness } from "../api/metrics";
import type { Host } from "../api/types";
import { useResource } from "../state/resource";
import { bytes, count, duration, short } from "../state/time";
import { Ago, Badge, Bones, Card, Failure, Notice, PageHead } from "../ui/parts";

const EVERY_MS = 5000;

interface Read {
  metrics: Metrics;
  /** The reading before, for what happened in between. */
  before?: Metrics;
  readiness: { isReady: boolean; text: string };
}

export function AdminServer() {
  const [read, setRead] = useState<Read | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const last = useRef<Metrics | undefined>(undefined);
  const hosts = useResource<Host[]>("/admin/hosts", { every_ms: 10_000 });
  const look = async () => {
    try {
      const [metrics, readiness] = await Promise.all([readMetrics(), readReadiness()]);
      setRead({ metrics, before: last.current, readiness });
      last.current = metrics;
      setError(undefined);
    } catch (failed) {
      setError(failed instanceof ApiError ? failed : new ApiError(0, "unknown", String(failed)));
    }
  };
  useEffect(() => {
    void look();
    const timer = setInterval(() => {
      if (!document.hidden) void look();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="page">
      <PageHead
        title="Server"
        says="Of this host, since it started; the queue, the timers and the store are those of all hosts"
        badge={
          read && (
            <Badge tone={read.readiness.isReady ? "good" : "bad"} dot>
              {read.readiness.isReady ? "Ready" : "Not ready"}
            </Badge>
          )
        }
      />
      {error && <Failure error={error} retry={() => void look()} />}
      {read && !read.readiness.isReady && (
        <Notice tone="bad" icon="alert">
          It takes no new work: {read.readiness.text}
        </Notice>
      )}
      {!read && !error && (
        <Card>
          <Bones />
        </Card>
      )}
      {read && <Numbers {...read} />}
      <Hosts hosts={hosts.data} error={hosts.error} />
    </div>
  );
}

/** `–` for what is not counted. */
const shown = (value: number | undefined, text: (value: number) => string): string => (value === undefined ? "–" : text(value));
const seconds = (value: number | undefined): string => shown(value, (time) => duration(time * 1000));

function Numbers({ metrics, before }: Read) {
  const rate = (name: string, labels?: Record<string, string>): string => {
    const [to, from] = [metrics.sum(name, labels), before?.sum(name, labels)];
    if (to === undefined) return "–";
    if (from === undefined || !before) return "…";
    const each = Math.max(to - from, 0) / Math.max((metrics.at_ms - before.at_ms) / 1000, 0.001);
    return each >= 10 ? short(Math.round(each)) : each.toFixed(1);
  };
  const runs = metrics.sum("wellspring_runs_total") ?? 0;
  const failed = runs - (metrics.sum("wellspring_runs_total", { outcome: "success" }) ?? 0);
  const flow: [string, string][] = [
    ["Requests a second", rate("wellspring_http_requests_total")],
    ["Runs a second", rate("wellspring_runs_total")],
    ["Events a second", rate("wellspring_events_total")],
    ["Failed runs", runs === 0 ? "–" : `${((100 * failed) / runs).toFixed(1)} %`],
  ];
  const times: [string, string][] = [
    ["Run, 95th percentile", seconds(metrics.quantile("wellspring_run_seconds", 0.95))],
    ["Wait for a run, 95th", seconds(metrics.quantile("wellspring_run_queue_seconds", 0.95))],
    ["Commit, 95th", seconds(metrics.quantile("wellspring_commit_seconds", 0.95))],
    ["Stalled polls", shown(metrics.sum("wellspring_stalled_polls_total"), count)],
  ];
  return (
    <>
      <Card label="What happens">
        <Stats stats={flow} />
      </Card>
      <Card label="Times">
        <Stats stats={times} />
      </Card>
      <div class="two even">
        <Store metrics={metrics} />
        <Memory metrics={metrics} />
      </div>
      <div class="two even">
        <Counted title="Deliveries" metrics={metrics} name="wellspring_deliveries_total" label="state" none="Nothing was delivered yet." />
        <Counted title="Refused" metrics={metrics} name="wellspring_refusals_total" label="kind" none="No bound was reached." />
      </div>
      <div class="two even">
        <Limits metrics={metrics} />
        <Counted title="Refreshes of accounts" metrics={metrics} name="wellspring_token_refreshes_total" label="outcome" none="No token was refreshed yet." />
      </div>
    </>
  );
}

function Stats({ stats }: { stats: [string, string][] }) {
  return (
    <div class="stats">
      {stats.map(([name, value]) => (
        <div class="stat" key={name}>
          <span class="small quiet">{name}</span>
          <b>{value}</b>
        </div>
      ))}
    </div>
  );
}

function Facts({ facts }: { facts: [string, string][] }) {
  return (
    <dl class="facts body">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Store({ metrics }: { metrics: Metrics }) {
  const isUp = metrics.sum("wellspring_store_up") === 1;
  return (
    <Card title="Store and queue" actions={<Badge tone={isUp ? "good" : "bad"}>{isUp ? "Answers" : "Does not answer"}</Badge>}>
      <Facts
        facts={[
          ["Size", shown(metrics.sum("wellspring_store_bytes"), bytes)],
          ["Jobs in the queue", shown(metrics.sum("wellspring_jobs"), count)],
          ["Oldest waits for", seconds(metrics.sum("wellspring_jobs_oldest_seconds"))],
          ["Timers", shown(metrics.sum("wellspring_timers"), count)],
          ["Most overdue timer", seconds(metrics.sum("wellspring_timers_lag_seconds"))],
          ["Failed commits", shown(metrics.sum("wellspring_commit_failures_total"), count)],
        ]}
      />
    </Card>
  );
}

const PRESSURES = ["No pressure", "Caches are halved", "Deploys wait", "Runs are refused"];

function Memory({ metrics }: { metrics: Metrics }) {
  const budget = metrics.sum("wellspring_memory_budget_bytes", { part: "all" });
  const used = metrics.sum("wellspring_memory_used_bytes");
  const part = budget && used !== undefined ? used / budget : 0;
  const pressure = metrics.sum("wellspring_memory_pressure") ?? 0;
  return (
    <Card title="Memory" actions={<Badge tone={pressure === 0 ? "good" : pressure < 2 ? "warn" : "bad"}>{PRESSURES[pressure] ?? `Pressure ${pressure}`}</Badge>}>
      <div class="body stack tight">
        <div class="row small">
          <span>Of the budget</span>
          <span class="push quiet number">{budget === undefined || used === undefined ? "–" : `${bytes(used)} of ${bytes(budget)}`}</span>
        </div>
        <div class={`meter ${part >= 1 ? "full" : part >= 0.8 ? "near" : ""}`} role="img" aria-label={`${Math.round(part * 100)} percent of the memory budget`}>
          <span style={{ width: `${Math.min(part * 100, 100)}%` }} />
        </div>
      </div>
      <Facts
        facts={[
          ["Resident", shown(metrics.sum("wellspring_process_resident_memory_bytes"), bytes)],
          ["CPU since the start", seconds(metrics.sum("wellspring_process_cpu_seconds_total"))],
          ["Sandboxes in use", shown(metrics.sum("wellspring_share_used", { share: "runs" }), count)],
          ["Open connections", shown(metrics.sum("wellspring_http_connections"), count)],
        ]}
      />
    </Card>
  );
}

/** What tenants share: how much of it is in use, and how much there is. */
function Limits({ metrics }: { metrics: Metrics }) {
  const facts = metrics.of("wellspring_share_limit").map(({ labels, value }): [string, string] => {
    const share = labels.share ?? "";
    const text = share.endsWith("bytes") ? bytes : count;
    return [share.replaceAll("_", " "), `${shown(metrics.sum("wellspring_share_used", { share }), text)} of ${text(value)}`];
  });
  return (
    <Card title="Limits">
      <Facts facts={facts} />
      <p class="body small quiet">In use, of what all tenants share on this host; each tenant has a share of it. Settings of `serve` change them.</p>
    </Card>
  );
}

/** Counters of one name by one of their labels, the largest first. */
function Counted({ title, metrics, name, label, none }: { title: string; metrics: Metrics; name: string; label: string; none: string }) {
  const counted = new Map<string, number>();
  for (const { labels, value } of metrics.of(name)) if (value > 0) counted.set(labels[label] ?? "", (counted.get(labels[label] ?? "") ?? 0) + value);
  const facts = [...counted].sort((one, other) => other[1] - one[1]).map(([text, value]): [string, string] => [text.replaceAll("_", " "), count(value)]);
  return <Card title={title}>{facts.length === 0 ? <p class="body small quiet">{none}</p> : <Facts facts={facts} />}</Card>;
}

function Hosts({ hosts, error }: { hosts: Host[] | undefined; error: ApiError | undefined }) {
  return (
    <Card title="Hosts">
      {error && !hosts && <Failure error={error} />}
      {!hosts && !error && <Bones rows={2} />}
      <div class="lines">
        {hosts?.map((host) => (
          <div class="line wrap" key={host.id}>
            <span class="grow">
              <span class="cut name">{host.name}</span>
              <span class="cut tiny faint mono">{host.address}</span>
            </span>
            {host.is_this_one && <Badge tone="accent">This one</Badge>}
            {host.read_only && <Badge tone="warn">read-only</Badge>}
            {host.differs_in.length > 0 && <Badge tone="warn">differs in {host.differs_in.join(", ")}</Badge>}
            {Math.abs(host.clock_offset_ms) >= 1000 && <Badge tone="warn">clock {duration(Math.abs(host.clock_offset_ms))} off</Badge>}
            <span class="tiny faint number">{host.version}</span>
            <span class="tiny faint number">{host.in_flight} in flight</span>
            <span class="tiny faint when">
              seen <Ago at_ms={host.seen_at_ms} />
            </span>
          </div>
        ))}
        {hosts?.length === 0 && <p class="body small quiet">This host is alone: its store is a file of its own.</p>}
      </div>
    </Card>
  );
}
