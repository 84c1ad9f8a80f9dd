// Where events are delivered to.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { Webhook } from "../api/types";
import { usePage } from "../state/resource";
import { Link, navigate, search, setSearch } from "../state/router";
import { may } from "../state/session";
import { Dialog, FormDialog } from "../ui/dialog";
import { Ago, Badge, Bones, Button, Card, Copyable, Empty, Failure, Field, PageHead } from "../ui/parts";

export function WebhookState({ hook }: { hook: Webhook }) {
  if (!hook.active) return <Badge tone="bad">Switched off</Badge>;
  if (hook.paused_at_ms) return <Badge tone="warn">Paused</Badge>;
  if (hook.health?.failing_since_ms) return <Badge tone="bad">Failing</Badge>;
  return <Badge tone="good">Active</Badge>;
}

export function Webhooks() {
  const hooks = usePage<Webhook>("/users/me/webhooks?limit=100");
  const [made, setMade] = useState<Webhook | undefined>(undefined);
  const isAsked = search.value.get("new") !== null;
  const list = hooks.data?.data;
  return (
    <div class="page">
      <PageHead
        title="Webhooks"
        says="Addresses of yours that events are posted to, signed"
        actions={
          may("write") && (
            <Button tone="primary" icon="plus" onClick={() => setSearch({ new: "1" })}>
              Create a webhook
            </Button>
          )
        }
      />
      {hooks.error && <Failure error={hooks.error} retry={() => void hooks.reload()} />}
      <Card label="Webhooks">
        {!list && !hooks.error && <Bones rows={4} />}
        {list?.length === 0 && (
          <Empty icon="webhook" title="No webhooks yet">
            A webhook gets the events of the sources it listens to. Failed deliveries are tried again for days, in order, and you see every attempt.
          </Empty>
        )}
        <div class="lines">
          {list?.map((hook) => (
            <Link key={hook.id} to={`/webhooks/${hook.id}`} class="line source-line">
              <span class="grow">
                <span class="cut name">{hook.name ?? hook.url}</span>
                <span class="cut tiny faint mono">{hook.url}</span>
              </span>
              <WebhookState hook={hook} />
              <span class="tiny faint when">
                <Ago at_ms={hook.created_at * 1000} />
              </span>
            </Link>
          ))}
        </div>
      </Card>
      {isAsked && (
        <NewWebhook
          close={() => setSearch({ new: undefined })}
          made={(hook) => {
            setMade(hook);
            void hooks.reload();
          }}
        />
      )}
      {made && <Secret hook={made} close={() => navigate(`/webhooks/${made.id}`)} />}
    </div>
  );
}

function NewWebhook({ close, made }: { close: () => void; made: (hook: Webhook) => void }) {
  const [url, setUrl] = useState("");
  const [name, setName] = useState("");
  return (
    <FormDialog title="Create a webhook" close={close} action="Create" isReady={url !== ""} submit={async () => made(await send<Webhook>("POST", "/webhooks", { url, ...(name ? { name } : {}) }))}>
      <Field id="hook-url" label="Address" hint="Events are posted here as JSON.">
        <input id="hook-url" class="input" type="url" required placeholder="https://example.com/hook" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
      </Field>
      <Field id="hook-name" label="Name" isOptional>
        <input id="hook-name" class="input" value={name} maxLength={128} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
    </FormDialog>
  );
}

/** A signing secret, the only time it is shown. */
export function Secret({ hook, close }: { hook: Webhook; close: () => void }) {
  return (
    <Dialog title="Signing secret" close={close} foot={<Button tone="primary" onClick={close}>I have copied it</Button>}>
      <p class="quiet small">Deliveries are signed with it, as Standard Webhooks describes. It is shown only now.</p>
      <Copyable text={hook.signing_secret ?? ""} says="Copy the secret" />
    </Dialog>
  );
}
