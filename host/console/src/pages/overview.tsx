// What needs attention, and how things go.

import { useMemo } from "preact/hooks";
import type { DeadLetter, PendingDelivery, Run, User, Webhook } from "../api/types";
import { usePage, useResource } from "../state/resource";
import { Link } from "../state/router";
import { may } from "../state/session";
import { nameOf, sources } from "../state/sources";
import { count, duration, now, plural, short } from "../state/time";
import { Icon, type IconName } from "../ui/icon";
import { Ago, Bones, ButtonLink, Card, Empty, Failure, PageHead, type Tone } from "../ui/parts";
import { RunLine } from "../ui/runs";
import { Columns } from "../ui/spark";

const HOUR_MS = 3_600_000;

export function Overview() {
  const user = useResource<User>("/users/me", { every_ms: 30_000 });
  const runs = usePage<Run>("/runs?limit=100", { every_ms: 5000 });
  const failed = usePage<Run>("/runs?limit=100&state=error", { every_ms: 15_000 });
  const letters = usePage<DeadLetter>("/users/me/dead_letters?limit=100", { every_ms: 30_000 });
  const hooks = usePage<Webhook>("/users/me/webhooks?limit=100", { every_ms: 30_000 });
  const pending = useResource<PendingDelivery[]>("/users/me/pending_deliveries", { every_ms: 15_000 });
  const list = runs.data?.data ?? [];
  const isNew = sources.value.isComplete && sources.value.total === 0 && list.length === 0;
  const error = user.error ?? runs.error;
  return (
    <div class="page">
      <PageHead
        title="Overview"
        actions={
          may("deploy") && (
            <ButtonLink to="/sources/new" tone="primary" icon="plus">
              Deploy a source
            </ButtonLink>
          )
        }
      />
      {error && <Failure error={error} retry={() => void runs.reload()} />}
      {isNew ? (
        <FirstSteps />
      ) : (
        <>
          <Attention failed={failed.data?.data ?? []} letters={letters.data?.page_info.total_count ?? 0} hooks={hooks.data?.data ?? []} pending={pending.data ?? []} user={user.data} />
          <RunsCard runs={list} isLoading={!runs.data} />
          <div class="two">
            <Card title="Last runs" actions={<Link class="link small" to="/runs">All runs</Link>}>
              {!runs.data && <Bones />}
              <div class="lines">
                {list.slice(0, 8).map((run) => (
                  <RunLine key={run.id} run={run} showsSource />
                ))}
              </div>
              {runs.data && list.length === 0 && <Empty icon="run" title="No runs yet">Send a request to one of your sources, or wait for a timer.</Empty>}
            </Card>
            <Usage user={user.data} />
          </div>
        </>
      )}
    </div>
  );
}

function FirstSteps() {
  return (
    <Card>
      <Empty
        icon="source"
        title="Welcome to Wellspring"
        action={
          may("deploy") && (
            <ButtonLink to="/sources/new" tone="primary" icon="plus">
              Deploy the first source
            </ButtonLink>
          )
        }
      >
        Deploy a small piece of JavaScript, send it a request, and watch its events arrive. Every run is kept to look at, and can be replayed.
      </Empty>
    </Card>
  );
}

interface Concern {
  tone: Tone;
  icon: IconName;
  text: string;
  hint: string;
  to: string;
}

function Attention({ failed, letters, hooks, pending, user }: { failed: Run[]; letters: number; hooks: Webhook[]; pending: PendingDelivery[]; user: User | undefined }) {
  const concerns = useMemo(() => {
    const found: Concern[] = [];
    const recent = failed.filter((run) => run.started_at_ms > now.value - 24 * HOUR_MS);
    const bySource = new Map<string, Run[]>();
    for (const run of recent) bySource.set(run.emitter_id, [...(bySource.get(run.emitter_id) ?? []), run]);
    for (const [id, ones] of [...bySource].sort((a, b) => b[1].length - a[1].length).slice(0, 5)) {
      found.push({ tone: "bad", icon: "alert", text: `${nameOf(id) ?? id} failed ${ones.length === 1 ? "once" : `${ones.length} times`} today`, hint: ones[0]?.error?.message ?? "", to: id.startsWith("dc_") ? `/sources/${id}/runs` : "/runs?state=error" });
    }
    if (letters > 0) found.push({ tone: "bad", icon: "inbox", text: `${plural(letters, "delivery", "deliveries")} given up`, hint: "Look at why, and deliver again", to: "/dead-letters" });
    for (const hook of hooks) {
      if (!hook.active && hook.inactive_reason) found.push({ tone: "bad", icon: "webhook", text: `Webhook ${hook.name ?? hook.url} was switched off`, hint: hook.inactive_reason, to: `/webhooks/${hook.id}` });
      else if (hook.paused_at_ms) found.push({ tone: "warn", icon: "pause", text: `Webhook ${hook.name ?? hook.url} is paused`, hint: "Deliveries wait in the queue", to: `/webhooks/${hook.id}` });
    }
    const retried = pending.filter((one) => one.state === "failing").length;
    if (retried > 0) found.push({ tone: "warn", icon: "retry", text: `${plural(retried, "delivery", "deliveries")} failing`, hint: "They are tried again by themselves", to: "/connections" });
    for (const [text, used, quota] of quotas(user)) if (quota > 0 && used / quota >= 0.8) found.push({ tone: used >= quota ? "bad" : "warn", icon: "alert", text: `${Math.round((100 * used) / quota)} % of today's ${text} used`, hint: used >= quota ? "Sources do not run until tomorrow" : "", to: "/" });
    return found;
  }, [failed, letters, hooks, pending, user, sources.value, now.value]);
  if (concerns.length === 0) return null;
  return (
    <Card title="Needs attention">
      <div class="lines">
        {concerns.map((concern) => (
          <Link key={concern.text} to={concern.to} class="line">
            <span class={`row badge ${concern.tone}`}>
              <Icon name={concern.icon} />
            </span>
            <span class="grow cut">
              <span class="strong">{concern.text}</span>
              <span class="faint small"> {concern.hint}</span>
            </span>
            <span class="faint row">
              <Icon name="chevron" />
            </span>
          </Link>
        ))}
      </div>
    </Card>
  );
}

function RunsCard({ runs, isLoading }: { runs: Run[]; isLoading: boolean }) {
  const to_ms = now.value;
  const oldest = runs.at(-1)?.started_at_ms ?? to_ms - HOUR_MS;
  const from_ms = Math.min(oldest, to_ms - 2 * 60_000);
  const errors = runs.filter((run) => run.state === "error").length;
  const times = runs.map((run) => run.ended_at_ms - run.started_at_ms).sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)] ?? 0;
  const slow = times[Math.floor(times.length * 0.95)] ?? 0;
  const perMinute = runs.length === 0 ? 0 : runs.length / Math.max((to_ms - oldest) / 60_000, 1);
  const events = runs.reduce((sum, run) => sum + (run.emits?.count ?? 0), 0);
  const eventsPerMinute = runs.length === 0 ? 0 : (events * perMinute) / runs.length;
  const rate = (value: number) => (value >= 10 ? short(Math.round(value)) : value.toFixed(1));
  const stats: [string, string][] = [
    ["Runs per minute", rate(perMinute)],
    ["Events per minute", rate(eventsPerMinute)],
    ["Succeeded", runs.length === 0 ? "–" : `${(100 * (1 - errors / runs.length)).toFixed(errors === 0 ? 0 : 1)} %`],
    ["Median time", runs.length === 0 ? "–" : duration(middle)],
    ["95th percentile", runs.length === 0 ? "–" : duration(slow)],
  ];
  return (
    <Card label="Runs" footer={<><span>{isLoading ? "" : `The last ${plural(runs.length, "run")}`}</span><span class="push">{runs.length > 0 && <>since <Ago at_ms={from_ms} /></>}</span></>}>
      <div class="stats">
        {stats.map(([name, value]) => (
          <div class="stat" key={name}>
            <span class="small quiet">{name}</span>
            <b>{isLoading ? " " : value}</b>
          </div>
        ))}
      </div>
      <div class="body">
        <Columns runs={runs} from_ms={from_ms} to_ms={to_ms} />
      </div>
    </Card>
  );
}

function quotas(user: User | undefined): [string, number, number][] {
  if (user?.daily_invocations_quota === undefined) return [];
  return [
    ["runs", user.daily_invocations_used ?? 0, user.daily_invocations_quota],
    ["compute time", user.daily_compute_time_used ?? 0, user.daily_compute_time_quota ?? 0],
  ];
}

function Usage({ user }: { user: User | undefined }) {
  if (!user) {
    return (
      <Card title="Today's usage">
        <Bones rows={2} />
      </Card>
    );
  }
  if (user.billing_period_invocations !== undefined) {
    return (
      <Card title="This period">
        <div class="stat">
          <span class="small quiet">Runs</span>
          <b>{count(user.billing_period_invocations)}</b>
        </div>
      </Card>
    );
  }
  return (
    <Card title="Today's usage">
      <div class="body stack">
        {quotas(user).map(([name, used, quota]) => {
          const part = quota === 0 ? 0 : used / quota;
          const text = name === "runs" ? `${count(used)} of ${count(quota)}` : `${used === 0 ? "0 ms" : duration(used)} of ${duration(quota)}`;
          return (
            <div class="stack tight" key={name}>
              <div class="row small">
                <span>{name === "runs" ? "Runs" : "Compute time"}</span>
                <span class="push quiet number">{text}</span>
              </div>
              <div class={`meter ${part >= 1 ? "full" : part >= 0.8 ? "near" : ""}`} role="img" aria-label={`${Math.round(part * 100)} percent of today's ${name}`}>
                <span style={{ width: `${Math.max(Math.min(part * 100, 100), used > 0 ? 1 : 0)}%` }} />
              </div>
            </div>
          );
        })}
        <p class="tiny faint">Counted anew each day at 00:00 UTC.</p>
      </div>
    </Card>
  );
}
