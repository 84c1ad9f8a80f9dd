// Connected accounts: credentials that components use, and that are never shown.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { Account, App } from "../api/types";
import { usePage } from "../state/resource";
import { search, setSearch } from "../state/router";
import { may } from "../state/session";
import { attempt } from "../state/toasts";
import { FormDialog } from "../ui/dialog";
import { Bones, Button, Card, Empty, Failure, Field, Notice, PageHead } from "../ui/parts";
import { useConnecting, WaitingFor, type Wish } from "./accounts/connecting";
import { AccountLine } from "./accounts/line";

export function Accounts() {
  const accounts = usePage<Account>("/users/me/accounts?limit=100");
  const apps = usePage<App>("/apps?limit=100");
  const connecting = useConnecting();
  const asked = search.value.get("new");
  const list = accounts.data?.data;
  const appName = (slug: string) => apps.data?.data.find((app) => app.name_slug === slug)?.name ?? slug;
  return (
    <div class="page">
      <PageHead
        title="Connected accounts"
        says="Credentials of other services for your components"
        actions={
          may("write") && (
            <Button tone="primary" icon="plus" onClick={() => setSearch({ new: "any" })}>
              Connect an account
            </Button>
          )
        }
      />
      {accounts.error && <Failure error={accounts.error} retry={() => void accounts.reload()} />}
      <WaitingFor connecting={connecting} />
      <Card label="Accounts">
        {!list && !accounts.error && <Bones rows={3} />}
        {list?.length === 0 && (
          <Empty icon="account" title="No accounts connected">
            A component with a prop of type <code>app</code> uses an account of yours. Its credentials are stored encrypted, and only the component sees them.
          </Empty>
        )}
        <div class="lines">
          {list?.map((account) => (
            <AccountLine key={account.id} account={account} app={appName(account.app)} reconnect={() => void attempt(undefined, () => connecting.begin({ app: account.app, account_id: account.id }))} changed={() => void accounts.reload()} />
          ))}
        </div>
      </Card>
      {asked !== null && apps.data && <Connect apps={apps.data.data} app={asked} close={() => setSearch({ new: undefined })} made={() => void accounts.reload()} begin={connecting.begin} />}
    </div>
  );
}

interface Pair {
  name: string;
  value: string;
}

function Connect({ apps, app, close, made, begin }: { apps: App[]; app: string; close: () => void; made: () => void; begin: (wish: Wish) => Promise<void> }) {
  const [slug, setSlug] = useState(apps.some((one) => one.name_slug === app) ? app : (apps[0]?.name_slug ?? ""));
  const [name, setName] = useState("");
  const chosen = apps.find((one) => one.name_slug === slug);
  const isOauth = chosen?.auth_type === "oauth";
  const hasPage = chosen !== undefined && chosen.auth_type !== "none" && (chosen.shipped || !["keys", "oauth"].includes(chosen.auth_type));
  const [pairs, setPairs] = useState<Pair[]>([{ name: isOauth ? "oauth_access_token" : "api_key", value: "" }]);
  const set = (index: number, change: Partial<Pair>) => setPairs(pairs.map((pair, at) => (at === index ? { ...pair, ...change } : pair)));
  if (apps.length === 0) {
    return (
      <FormDialog title="Connect an account" close={close} action="Close" submit={() => Promise.resolve()}>
        <Notice>No app is registered on this server yet. Its operator registers apps, in the console under Apps or with <code>wellspring app add</code>.</Notice>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title="Connect an account"
      close={close}
      action={hasPage ? "Continue" : "Connect"}
      isReady={hasPage || pairs.every((pair) => pair.name !== "" && pair.value !== "")}
      submit={async () => {
        if (hasPage) {
          await begin({ app: slug, ...(name ? { name } : {}) });
          return;
        }
        const credentials = Object.fromEntries(pairs.map((pair) => [pair.name, pair.value]));
        await send("POST", "/accounts", { app: slug, credentials, ...(name ? { name } : {}) });
        made();
      }}
    >
      <Field id="app" label="App">
        <select id="app" class="input" value={slug} onChange={(event) => setSlug(event.currentTarget.value)}>
          {apps.map((one) => (
            <option key={one.name_slug} value={one.name_slug}>
              {one.name}
            </option>
          ))}
        </select>
      </Field>
      <Field id="account-name" label="Name" isOptional>
        <input id="account-name" class="input" value={name} maxLength={128} placeholder="Work" onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      {hasPage && <Notice>A page opens beside this one and leads through it. The account is in the list once it is connected.</Notice>}
      <div class="field" hidden={hasPage}>
        <span class="label">Credentials</span>
        {pairs.map((pair, index) => (
          <div class="row" key={index}>
            <input class="input mono" aria-label={`Name of credential ${index + 1}`} value={pair.name} onInput={(event) => set(index, { name: event.currentTarget.value })} />
            <input class="input" type="password" autocomplete="off" aria-label={`Value of credential ${index + 1}`} value={pair.value} onInput={(event) => set(index, { value: event.currentTarget.value })} />
            {pairs.length > 1 && <Button tone="bare" icon="close" says="Remove" onClick={() => setPairs(pairs.filter((_, at) => at !== index))} />}
          </div>
        ))}
        <div class="hint">
          Components see them as <code>$auth</code>.{" "}
          <button type="button" class="link" onClick={() => setPairs([...pairs, { name: "", value: "" }])}>
            Add another
          </button>
        </div>
      </div>
    </FormDialog>
  );
}
