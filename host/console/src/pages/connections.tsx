// Who listens to whom, as a drawing and as a list.

import { useMemo } from "preact/hooks";
import { send } from "../api/client";
import type { Subscription, Webhook } from "../api/types";
import { usePage, useResource } from "../state/resource";
import { may } from "../state/session";
import { nameOf, sources } from "../state/sources";
import { attempt } from "../state/toasts";
import { Badge, Bones, Button, Card, Empty, Failure, PageHead } from "../ui/parts";
import { Graph, type Edge, type GraphNode } from "../ui/graph";

/** More boxes than this are a list, not a drawing. */
const DRAWN = 120;

export function Connections() {
  const subscriptions = useResource<Subscription[]>("/users/me/subscriptions");
  const automatic = useResource<Subscription[]>("/users/me/auto_subscriptions");
  const hooks = usePage<Webhook>("/users/me/webhooks?limit=100");
  const names = useMemo(() => new Map((hooks.data?.data ?? []).map((hook) => [hook.id, hook.name ?? hook.url])), [hooks.data]);
  const label = (id: string) => (id === "dc_*" ? "All sources" : id === "p_*" ? "All workflows" : id === "*" ? "Whatever is created later" : (nameOf(id) ?? names.get(id) ?? id));
  const list = subscriptions.data ?? [];
  const { nodes, edges } = useMemo(() => drawn(list, label), [list, names, sources.value]);
  const end = (one: Subscription) =>
    attempt("Ended", async () => {
      const isAuto = one.emitter_id === "*";
      const stream = encodeURIComponent(one.event_name);
      await send("DELETE", isAuto ? `/auto_subscriptions?listener_id=${one.listener_id}&event_name=${stream}` : `/subscriptions?emitter_id=${encodeURIComponent(one.emitter_id)}&listener_id=${one.listener_id}&event_name=${stream}`);
      await Promise.all([subscriptions.reload(), automatic.reload()]);
    });
  const all = [...list, ...(automatic.data ?? [])];
  return (
    <div class="page">
      <PageHead title="Connections" says="Which listeners get the events of which sources" />
      {subscriptions.error && <Failure error={subscriptions.error} retry={() => void subscriptions.reload()} />}
      {!subscriptions.data && !subscriptions.error && (
        <Card>
          <Bones />
        </Card>
      )}
      {subscriptions.data && all.length === 0 && (
        <Card>
          <Empty icon="graph" title="Nothing is connected yet">
            On the page of a source, under Deliveries, add a webhook or another source as a listener. The connections of the account are then drawn here.
          </Empty>
        </Card>
      )}
      {edges.length > 0 && nodes.length <= DRAWN && (
        <Card label="Graph of connections">
          <Graph nodes={nodes} edges={edges} />
        </Card>
      )}
      {all.length > 0 && (
        <Card title="Subscriptions">
          <div class="lines">
            {all.map((one) => (
              <div class="line small" key={one.id}>
                <span class="grow cut">
                  <span class="strong">{label(one.emitter_id)}</span> <span class="faint">to</span> <span class="strong">{label(one.listener_id)}</span>
                </span>
                <Badge tone={one.event_name === "$errors" ? "bad" : "plain"}>{one.event_name || "events"}</Badge>
                {may("write") && <Button tone="bare" isLittle icon="close" says={`End the subscription of ${label(one.listener_id)}`} onClick={() => void end(one)} />}
              </div>
            ))}
          </div>
        </Card>
      )}
    </div>
  );
}

function drawn(subscriptions: Subscription[], label: (id: string) => string): { nodes: GraphNode[]; edges: Edge[] } {
  const nodes = new Map<string, GraphNode>();
  const node = (id: string) => {
    if (!nodes.has(id)) {
      const kind = id.startsWith("wh_") ? "webhook" : id.startsWith("p_") ? "workflow" : "source";
      const to = id.endsWith("*") || kind === "workflow" ? undefined : kind === "webhook" ? `/webhooks/${id}` : `/sources/${id}`;
      nodes.set(id, { id, text: label(id), sub: id.endsWith("*") ? "" : id, to });
    }
  };
  const edges = subscriptions.map((one) => {
    node(one.emitter_id);
    node(one.listener_id);
    return { from: one.emitter_id, to: one.listener_id, isError: one.event_name === "$errors", says: one.event_name || "events" };
  });
  return { nodes: [...nodes.values()], edges };
}
