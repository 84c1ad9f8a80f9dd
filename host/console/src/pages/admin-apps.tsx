// The operator's apps: services that accounts can be connected to.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { App } from "../api/types";
import { usePage } from "../state/resource";
import { Confirm, FormDialog } from "../ui/dialog";
import { Badge, Bones, Button, Card, Empty, Failure, Field, PageHead } from "../ui/parts";

export function AdminApps() {
  const apps = usePage<App>("/apps?limit=100");
  const [isAsked, setAsked] = useState(false);
  const [gone, setGone] = useState<App | undefined>(undefined);
  return (
    <div class="page">
      <PageHead
        title="Apps"
        says="Services that accounts can be connected to"
        actions={
          <Button tone="primary" icon="plus" onClick={() => setAsked(true)}>
            Register an app
          </Button>
        }
      />
      {apps.error && <Failure error={apps.error} retry={() => void apps.reload()} />}
      <Card label="Apps">
        {!apps.data && !apps.error && <Bones rows={3} />}
        {apps.data?.data.length === 0 && (
          <Empty icon="app" title="No apps yet">
            A component asks for an account of an app by its slug, such as <code>slack</code>. Register it here, and users can connect their accounts.
          </Empty>
        )}
        <div class="lines">
          {apps.data?.data.map((app) => (
            <div class="line" key={app.name_slug}>
              <span class="grow cut">
                <span class="strong">{app.name}</span> <span class="tiny faint mono">{app.name_slug}</span>
              </span>
              <Badge>{app.auth_type}</Badge>
              {!app.shipped && <Button tone="bare" isLittle icon="trash" says={`Remove ${app.name}`} onClick={() => setGone(app)} />}
            </div>
          ))}
        </div>
      </Card>
      {isAsked && <NewApp close={() => setAsked(false)} made={() => void apps.reload()} />}
      {gone && (
        <Confirm
          title={`Remove ${gone.name}?`}
          says="Accounts that are connected stay; no further ones can be."
          action="Remove the app"
          close={() => setGone(undefined)}
          act={async () => {
            await send("DELETE", `/admin/apps/${gone.name_slug}`);
            await apps.reload();
          }}
        />
      )}
    </div>
  );
}

function NewApp({ close, made }: { close: () => void; made: () => void }) {
  const [slug, setSlug] = useState("");
  const [name, setName] = useState("");
  const [kind, setKind] = useState<App["auth_type"]>("keys");
  return (
    <FormDialog
      title="Register an app"
      close={close}
      action="Register"
      isReady={slug !== ""}
      submit={async () => {
        await send("POST", "/admin/apps", { name_slug: slug, auth_type: kind, ...(name ? { name } : {}) });
        made();
      }}
    >
      <Field id="slug" label="Slug" hint="What components call it.">
        <input id="slug" class="input mono" placeholder="slack" value={slug} onInput={(event) => setSlug(event.currentTarget.value)} />
      </Field>
      <Field id="app-name" label="Name" isOptional>
        <input id="app-name" class="input" placeholder="Slack" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field id="kind" label="Credentials">
        <select id="kind" class="input" value={kind} onChange={(event) => setKind(event.currentTarget.value as App["auth_type"])}>
          <option value="keys">Keys</option>
          <option value="oauth">OAuth token</option>
          <option value="none">None</option>
        </select>
      </Field>
    </FormDialog>
  );
}
