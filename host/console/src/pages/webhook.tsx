// One webhook: how deliveries go, every attempt, and what it listens to.

import { useState } from "preact/hooks";
import { ApiError, send } from "../api/client";
import type { DeliveryAttempt, Subscription, Webhook } from "../api/types";
import { usePage, useResource } from "../state/resource";
import { Link, navigate } from "../state/router";
import { may } from "../state/session";
import { nameOf } from "../state/sources";
import { count, duration } from "../state/time";
import { attempt, toast } from "../state/toasts";
import { isMissing } from "../shell/routes";
import { Confirm, FormDialog } from "../ui/dialog";
import { Icon } from "../ui/icon";
import { Ago, At, Badge, Bones, Button, ButtonLink, Card, Copyable, Empty, Failure, Field, Notice, PageHead } from "../ui/parts";
import { Secret, WebhookState } from "./webhooks";

type Asked = "delete" | "edit" | "rotate" | "secret" | undefined;

export function WebhookPage({ id }: { id: string }) {
  const hook = useResource<Webhook>(`/webhooks/${id}`, { every_ms: 10_000 });
  const attempts = usePage<DeliveryAttempt>(`/webhooks/${id}/deliveries?limit=100`, { every_ms: 5000 });
  const subscriptions = useResource<Subscription[]>("/users/me/subscriptions");
  const [asked, setAsked] = useState<Asked>(undefined);
  const [secret, setSecret] = useState<Webhook | undefined>(undefined);
  const { data, error } = hook;
  if (error && !data) {
    return isMissing(error) ? (
      <Empty icon="webhook" title="No such webhook" action={<ButtonLink to="/webhooks">All webhooks</ButtonLink>} />
    ) : (
      <Failure error={error} retry={() => void hook.reload()} />
    );
  }
  if (!data) {
    return (
      <Card>
        <Bones />
      </Card>
    );
  }
  const change = (text: string, path: string) => attempt(text, async () => hook.set({ ...data, ...(await send<Webhook>("POST", `/webhooks/${id}/${path}`)) }));
  const listens = subscriptions.data?.filter((one) => one.listener_id === id) ?? [];
  return (
    <div class="page">
      <PageHead
        crumbs={[{ to: "/webhooks", text: "Webhooks" }]}
        title={data.name ?? data.url}
        badge={<WebhookState hook={data} />}
        says={<span class="mono tiny">{id}</span>}
        actions={
          may("write") && (
            <>
              <Test id={id} tested={() => void attempts.reload()} />
              {data.paused_at_ms ? (
                <Button icon="run" onClick={() => void change("Deliveries go on", "resume")}>
                  Resume
                </Button>
              ) : (
                <Button icon="pause" onClick={() => void change("Deliveries wait in the queue", "pause")}>
                  Pause
                </Button>
              )}
              <Button onClick={() => setAsked("edit")}>Edit</Button>
              <Button icon="key" onClick={() => setAsked("rotate")}>
                Rotate secret
              </Button>
              <Button tone="danger" icon="trash" says="Delete the webhook" onClick={() => setAsked("delete")} />
            </>
          )
        }
      />
      <Copyable text={data.url} says="Copy the address" />
      {!data.active && data.inactive_reason && (
        <Notice tone="bad" icon="alert">
          <div class="row wrap">
            <span>Deliveries switched it off: {data.inactive_reason}.</span>
            {may("write") && (
              <Button isLittle onClick={() => void attempt("Active again", async () => hook.set({ ...data, ...(await send<Webhook>("PUT", `/webhooks/${id}`, { active: true })) }))}>
                Activate again
              </Button>
            )}
          </div>
        </Notice>
      )}
      <Card label="Health">
        <div class="body stack">
          <Health hook={data} />
          {data.health?.failing_since_ms && data.health.last_failure?.error && (
            <Notice tone="bad" icon="alert">
              {data.health.last_failure.error}
            </Notice>
          )}
        </div>
      </Card>
      <div class="two">
        <Card title="Attempts">
          {!attempts.data && <Bones rows={5} />}
          {attempts.data?.data.length === 0 && (
            <Empty icon="send" title="Nothing delivered yet">
              Every attempt to deliver an event appears here, with what the receiver answered. Send a test to see one.
            </Empty>
          )}
          <div class="lines">
            {attempts.data?.data.map((one) => (
              <AttemptRow key={one.id} attempt={one} />
            ))}
          </div>
        </Card>
        <Card title="Listens to" actions={<Link class="link small" to="/connections">Connections</Link>}>
          {listens.length === 0 && <div class="body small quiet">Nothing yet. Add it as a listener on the page of a source.</div>}
          <div class="lines">
            {listens.map((one) => (
              <Link class="line small" key={one.id} to={one.emitter_id.startsWith("dc_") && one.emitter_id !== "dc_*" ? `/sources/${one.emitter_id}` : "/connections"}>
                <span class="grow cut strong">{one.emitter_id === "dc_*" ? "All sources" : one.emitter_id === "p_*" ? "All workflows" : (nameOf(one.emitter_id) ?? one.emitter_id)}</span>
                <Badge>{one.event_name || "events"}</Badge>
              </Link>
            ))}
          </div>
        </Card>
      </div>
      {asked === "edit" && <Edit hook={data} close={() => setAsked(undefined)} saved={(saved) => hook.set({ ...data, ...saved })} />}
      {asked === "rotate" && (
        <Confirm
          title="Make a new signing secret?"
          says="For a day deliveries are signed with the old one as well, so that you have time to change it at the receiver."
          action="Rotate"
          close={() => setAsked(undefined)}
          act={async () => setSecret(await send<Webhook>("POST", `/webhooks/${id}/rotate_secret`, {}))}
        />
      )}
      {secret && <Secret hook={secret} close={() => setSecret(undefined)} />}
      {asked === "delete" && (
        <Confirm
          title="Delete this webhook?"
          says="Its subscriptions end, and what waits for it is not delivered."
          action="Delete the webhook"
          close={() => setAsked(undefined)}
          act={async () => {
            await send("DELETE", `/webhooks/${id}`);
            navigate("/webhooks");
          }}
        />
      )}
    </div>
  );
}

function Test({ id, tested }: { id: string; tested: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const made = await send<DeliveryAttempt>("POST", `/webhooks/${id}/test`);
      const answer = made.status !== undefined ? `It answered ${made.status} in ${duration(made.ms)}.` : `No answer: ${made.error ?? "unknown"}.`;
      toast(answer, made.state === "delivered" ? "good" : "bad");
      tested();
    } catch (failed) {
      toast(failed instanceof ApiError ? failed.message : String(failed), "bad");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button tone="primary" icon="send" disabled={isBusy} onClick={() => void run()}>
      {isBusy ? "Sending…" : "Send a test"}
    </Button>
  );
}

function Health({ hook }: { hook: Webhook }) {
  const health = hook.health;
  return (
    <dl class="facts">
      <div>
        <dt>Last success</dt>
        <dd>{health?.last_success_ms ? <Ago at_ms={health.last_success_ms} /> : "never"}</dd>
      </div>
      <div>
        <dt>Last failure</dt>
        <dd>
          {health?.last_failure ? (
            <>
              <Ago at_ms={health.last_failure.at_ms} /> {health.last_failure.status && <span class="faint">{health.last_failure.status}</span>}
            </>
          ) : (
            "never"
          )}
        </dd>
      </div>
      <div>
        <dt>Failing since</dt>
        <dd>{health?.failing_since_ms ? <Ago at_ms={health.failing_since_ms} /> : "–"}</dd>
      </div>
      <div>
        <dt>In the queue</dt>
        <dd>
          {count(health?.pending ?? 0)}
          {health?.pending_is_partial && "+"}
        </dd>
      </div>
      <div>
        <dt>Created</dt>
        <dd>
          <Ago at_ms={hook.created_at * 1000} />
        </dd>
      </div>
    </dl>
  );
}

const STATES = { delivered: ["good", "Delivered"], failing: ["warn", "Tried again"], given_up: ["bad", "Given up"] } as const;

function AttemptRow({ attempt: one }: { attempt: DeliveryAttempt }) {
  const [isOpen, setOpen] = useState(false);
  const [tone, text] = STATES[one.state];
  return (
    <div class="event">
      <button type="button" class="line small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="twisty">
          <Icon name="chevron" />
        </span>
        <Badge tone={tone}>{one.status ?? text}</Badge>
        <span class="grow cut">
          {nameOf(one.emitter_id) ?? one.emitter_id} <span class="faint">attempt {one.attempt}</span>
          {one.error && <span class="error-text"> {one.error}</span>}
        </span>
        <span class="number quiet took">{duration(one.ms)}</span>
        <span class="faint when">
          <Ago at_ms={one.at_ms} />
        </span>
      </button>
      {isOpen && (
        <div class="detail stack tight small">
          <dl class="facts">
            <div>
              <dt>Outcome</dt>
              <dd>{text}</dd>
            </div>
            <div>
              <dt>At</dt>
              <dd>
                <At at_ms={one.at_ms} precise />
              </dd>
            </div>
            <div>
              <dt>Event</dt>
              <dd class="mono tiny">{one.emit_id}</dd>
            </div>
            {one.next_attempt_ms && (
              <div>
                <dt>Next attempt</dt>
                <dd>
                  <Ago at_ms={one.next_attempt_ms} />
                </dd>
              </div>
            )}
          </dl>
          {one.excerpt && <pre class="block">{one.excerpt}</pre>}
        </div>
      )}
    </div>
  );
}

function Edit({ hook, close, saved }: { hook: Webhook; close: () => void; saved: (hook: Webhook) => void }) {
  const [url, setUrl] = useState(hook.url);
  const [name, setName] = useState(hook.name ?? "");
  const [description, setDescription] = useState(hook.description ?? "");
  return (
    <FormDialog title="Edit the webhook" close={close} action="Save" submit={async () => saved(await send<Webhook>("PUT", `/webhooks/${hook.id}`, { url, name, description }))}>
      <Field id="edit-url" label="Address">
        <input id="edit-url" class="input" type="url" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
      </Field>
      <Field id="edit-name" label="Name" isOptional>
        <input id="edit-name" class="input" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field id="edit-description" label="Description" isOptional>
        <textarea id="edit-description" class="input" value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
      </Field>
    </FormDialog>
  );
}
