// Where the events of a source go, and what waits to be delivered.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { PendingDelivery, Source, Subscription, Webhook } from "../../api/types";
import { usePage, useResource } from "../../state/resource";
import { Link } from "../../state/router";
import { may } from "../../state/session";
import { nameOf, sources } from "../../state/sources";
import { attempt } from "../../state/toasts";
import { FormDialog } from "../../ui/dialog";
import { Ago, Badge, Bones, Button, Card, Empty, Failure, Field } from "../../ui/parts";

export function DeliveriesTab({ source }: { source: Source }) {
  const subscriptions = useResource<Subscription[]>("/users/me/subscriptions");
  const webhooks = usePage<Webhook>("/users/me/webhooks?limit=100");
  const pending = useResource<PendingDelivery[]>("/users/me/pending_deliveries", { every_ms: 5000 });
  const [asks, setAsks] = useState(false);
  const mine = subscriptions.data?.filter((one) => one.emitter_id === source.id || one.emitter_id === "dc_*");
  const waiting = pending.data?.filter((one) => one.emitter_id === source.id) ?? [];
  const hooks = new Map((webhooks.data?.data ?? []).map((hook) => [hook.id, hook]));
  return (
    <div class="stack">
      {subscriptions.error && <Failure error={subscriptions.error} retry={() => void subscriptions.reload()} />}
      <Card
        title="Listeners"
        actions={
          may("write") && (
            <Button isLittle icon="plus" onClick={() => setAsks(true)}>
              Add a listener
            </Button>
          )
        }
      >
        {!mine && <Bones rows={3} />}
        {mine?.length === 0 && (
          <Empty icon="webhook" title="Nothing listens yet">
            Events are kept and can be read here. To have them sent on, add a webhook or another source as a listener.
          </Empty>
        )}
        <div class="lines">
          {mine?.map((one) => (
            <ListenerLine key={one.id} subscription={one} hook={hooks.get(one.listener_id)} ended={() => void subscriptions.reload()} />
          ))}
        </div>
      </Card>
      {waiting.length > 0 && (
        <Card title="In the queue">
          <div class="lines">
            {waiting.map((one) => (
              <div class="line small" key={one.emit_id + one.listener_id}>
                <Badge tone={one.state === "failing" ? "bad" : one.state === "paused" ? "warn" : "plain"}>{one.state}</Badge>
                <span class="grow cut">
                  to {hooks.get(one.listener_id)?.name ?? nameOf(one.listener_id) ?? one.listener_id}
                  <span class="faint"> after {one.attempts} attempts{one.behind > 0 && `, ${one.behind} more behind it`}</span>
                </span>
                <span class="faint tiny">
                  next <Ago at_ms={one.next_attempt_ms} />
                </span>
              </div>
            ))}
          </div>
        </Card>
      )}
      {asks && <AddListener source={source} webhooks={webhooks.data?.data ?? []} close={() => setAsks(false)} added={() => void subscriptions.reload()} />}
    </div>
  );
}

function ListenerLine({ subscription, hook, ended }: { subscription: Subscription; hook: Webhook | undefined; ended: () => void }) {
  const { listener_id: id, event_name: stream, emitter_id: emitter } = subscription;
  const to = id.startsWith("wh_") ? `/webhooks/${id}` : `/sources/${id}`;
  const address = `/subscriptions?emitter_id=${encodeURIComponent(emitter)}&listener_id=${id}&event_name=${encodeURIComponent(stream)}`;
  return (
    <div class="line">
      <Link class="grow cut" to={to}>
        <span class="strong">{hook ? (hook.name ?? hook.url) : (nameOf(id) ?? id)}</span>
        <span class="tiny faint mono"> {hook ? hook.url : id}</span>
      </Link>
      <Badge>{stream === "" || stream === "default" ? "events" : stream}</Badge>
      {emitter === "dc_*" && <Badge tone="accent">of all sources</Badge>}
      {hook && !hook.active && <Badge tone="bad">switched off</Badge>}
      {hook?.paused_at_ms && <Badge tone="warn">paused</Badge>}
      {may("write") && emitter !== "dc_*" && (
        <Button
          tone="bare"
          isLittle
          icon="close"
          says="Remove the listener"
          onClick={() =>
            void attempt("Removed", async () => {
              await send("DELETE", address);
              ended();
            })
          }
        />
      )}
    </div>
  );
}

function AddListener({ source, webhooks, close, added }: { source: Source; webhooks: Webhook[]; close: () => void; added: () => void }) {
  const [listener, setListener] = useState(webhooks[0]?.id ?? "new");
  const [url, setUrl] = useState("");
  const [stream, setStream] = useState("default");
  const others = sources.value.rows.filter((row) => row.id !== source.id).slice(0, 200);
  return (
    <FormDialog
      title="Add a listener"
      close={close}
      action="Add"
      isReady={listener !== "new" || url !== ""}
      submit={async () => {
        const id = listener === "new" ? (await send<Webhook>("POST", "/webhooks", { url })).id : listener;
        await send("POST", "/subscriptions", { emitter_id: source.id, listener_id: id, event_name: stream });
        added();
      }}
    >
      <Field id="listener" label="Deliver to">
        <select id="listener" class="input" value={listener} onChange={(event) => setListener(event.currentTarget.value)}>
          <option value="new">A new webhook…</option>
          {webhooks.length > 0 && (
            <optgroup label="Webhooks">
              {webhooks.map((hook) => (
                <option key={hook.id} value={hook.id}>
                  {hook.name ?? hook.url}
                </option>
              ))}
            </optgroup>
          )}
          {others.length > 0 && (
            <optgroup label="Sources">
              {others.map((row) => (
                <option key={row.id} value={row.id}>
                  {row.name}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </Field>
      {listener === "new" && (
        <Field id="listener-url" label="Address" hint="Events are posted to it as JSON, signed as Standard Webhooks says.">
          <input id="listener-url" class="input" type="url" placeholder="https://example.com/hook" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
        </Field>
      )}
      <Field id="stream" label="Of which stream">
        <select id="stream" class="input" value={stream} onChange={(event) => setStream(event.currentTarget.value)}>
          <option value="default">Events</option>
          <option value="$errors">Errors</option>
          <option value="$logs">Log lines</option>
        </select>
      </Field>
    </FormDialog>
  );
}
