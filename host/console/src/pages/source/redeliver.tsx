// Delivers a kept event once more: to everything that listens to its stream, or to one listener.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { EventSummary, Page, Redelivered, Source, Subscription, Webhook, Workflow } from "../../api/types";
import { usePage, useResource } from "../../state/resource";
import { sources } from "../../state/sources";
import { plural } from "../../state/time";
import { toast } from "../../state/toasts";
import { FormDialog } from "../../ui/dialog";
import { Field } from "../../ui/parts";

export function RedeliverDialog({ event, source, stream, close }: { event: EventSummary; source: Source; stream: string; close: () => void }) {
  const subscriptions = useResource<Subscription[]>("/users/me/subscriptions");
  const webhooks = usePage<Webhook>("/users/me/webhooks?limit=100");
  const workflows = usePage<Workflow>("/users/me/workflows?limit=100");
  const [listener, setListener] = useState("");
  const listening = new Set((subscriptions.data ?? []).filter((one) => isOf(one, source, stream)).map((one) => one.listener_id));
  const known = choices(source, webhooks.data, workflows.data);
  const groups: [string, Choice[]][] = [
    ["Listens to this stream", known.filter((one) => listening.has(one.id))],
    ["Other", known.filter((one) => !listening.has(one.id))],
  ];
  const submit = async () => {
    const body = { event_name: stream, ...(listener === "" ? {} : { listener_id: listener }) };
    const done = await send<Redelivered>("POST", `/sources/${source.id}/events/${event.id}/redeliver`, body);
    if (done.listeners.length === 0) throw new Error("Nothing listens to this stream. Choose where to deliver it to, or add a listener under Deliveries.");
    toast(`Under way to ${done.listeners.length === 1 ? (known.find((one) => one.id === done.listeners[0])?.name ?? "its listener") : plural(done.listeners.length, "listener")}`);
  };
  return (
    <FormDialog title="Deliver this event again" close={close} action="Deliver" submit={submit}>
      <p class="quiet small">It is delivered as it was emitted, under the same id, and is not emitted a second time.</p>
      <Field id="redeliver-to" label="Deliver to">
        <select id="redeliver-to" class="input" value={listener} onChange={(change) => setListener(change.currentTarget.value)}>
          <option value="">Everything that listens ({subscriptions.data ? listening.size : "…"})</option>
          {groups.map(
            ([title, members]) =>
              members.length > 0 && (
                <optgroup key={title} label={title}>
                  {members.map((one) => (
                    <option key={one.id} value={one.id}>
                      {one.name}
                    </option>
                  ))}
                </optgroup>
              ),
          )}
        </select>
      </Field>
    </FormDialog>
  );
}

interface Choice {
  id: string;
  name: string;
}

/** More than this makes no list to choose from; a program names what it wants. */
const LISTED = 500;

function choices(source: Source, webhooks: Page<Webhook> | undefined, workflows: Page<Workflow> | undefined): Choice[] {
  const hooks = (webhooks?.data ?? []).map((hook) => ({ id: hook.id, name: hook.name ?? hook.url }));
  const flows = (workflows?.data ?? []).map((flow) => ({ id: flow.id, name: flow.name }));
  const others = sources.value.rows.filter((row) => row.id !== source.id).slice(0, LISTED);
  return [...hooks, ...flows, ...others.map((row) => ({ id: row.id, name: row.name }))];
}

/** Whether a subscription is for this stream of the source; none named is the default one. */
function isOf(subscription: Subscription, source: Source, stream: string): boolean {
  const isEmitter = subscription.emitter_id === source.id || subscription.emitter_id === "dc_*";
  return isEmitter && (subscription.event_name || "default") === stream;
}
