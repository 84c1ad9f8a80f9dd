// One connected account: its state, what uses it, and what can be done with it.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Account, AccountTest, AccountUse } from "../../api/types";
import { useResource } from "../../state/resource";
import { Link } from "../../state/router";
import { may } from "../../state/session";
import { attempt, toast } from "../../state/toasts";
import { FormDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { Ago, Badge, Bones, Button, Failure, Field, Notice } from "../../ui/parts";

interface LineProps {
  account: Account;
  app: string;
  reconnect: () => void;
  /** It was renamed or deleted. */
  changed: () => void;
}

export function AccountLine({ account, app, reconnect, changed }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="event">
      <button type="button" class="line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="twisty">
          <Icon name="chevron" />
        </span>
        <span class="grow cut">
          <span class="strong">{account.name}</span> <span class="tiny faint mono">{account.id}</span>
        </span>
        {account.state !== "connected" && <Badge tone={account.state === "failing" ? "warn" : "bad"}>{account.state}</Badge>}
        <Badge>{app}</Badge>
        <span class="tiny faint when">
          <Ago at_ms={account.created_at * 1000} />
        </span>
      </button>
      {isOpen && <Detail account={account} reconnect={reconnect} changed={changed} />}
    </div>
  );
}

function Detail({ account, reconnect, changed }: Omit<LineProps, "app">) {
  const uses = useResource<AccountUse[]>(`/accounts/${account.id}/uses`);
  const [asked, setAsked] = useState<"rename" | "delete" | undefined>(undefined);
  const test = () =>
    attempt(undefined, async () => {
      const tested = await send<AccountTest>("POST", `/accounts/${account.id}/test`);
      toast(tested.message, tested.ok ? "good" : "bad");
      if (!tested.ok) changed();
    });
  return (
    <div class="detail stack tight">
      {account.problem && (
        <Notice tone="bad" icon="alert">
          {account.problem}
        </Notice>
      )}
      <div class="row wrap tiny faint">
        {account.uid && <span>known there as {account.uid}</span>}
        {account.expires_at && (
          <span>
            token good until <Ago at_ms={account.expires_at * 1000} />
          </span>
        )}
        {account.refreshed_at && (
          <span>
            refreshed <Ago at_ms={account.refreshed_at * 1000} />
          </span>
        )}
        {(account.scopes ?? []).map((scope) => (
          <Badge key={scope}>{scope}</Badge>
        ))}
      </div>
      {may("write") && (
        <div class="row wrap">
          <Button isLittle icon="check" onClick={() => void test()}>
            Test
          </Button>
          <Button isLittle onClick={() => setAsked("rename")}>
            Rename
          </Button>
          <Button isLittle icon="replay" onClick={reconnect}>
            Connect again
          </Button>
          <Button isLittle tone="danger" icon="trash" onClick={() => setAsked("delete")}>
            Delete
          </Button>
        </div>
      )}
      <div class="small quiet">{uses.data?.length === 0 ? "Nothing uses it." : "Used by"}</div>
      {uses.error && <Failure error={uses.error} />}
      {!uses.data && !uses.error && <Bones rows={1} />}
      <ul class="plain-list">
        {uses.data?.map((use) => (
          <li key={use.id}>
            <Link class="link" to={use.id.startsWith("p_") ? `/workflows/${use.id}` : `/sources/${use.id}`}>
              {use.name}
            </Link>
          </li>
        ))}
      </ul>
      {asked === "rename" && <Rename account={account} close={() => setAsked(undefined)} changed={changed} />}
      {asked === "delete" && <Delete account={account} uses={uses.data ?? []} close={() => setAsked(undefined)} changed={changed} />}
    </div>
  );
}

function Rename({ account, close, changed }: { account: Account; close: () => void; changed: () => void }) {
  const [name, setName] = useState(account.name);
  return (
    <FormDialog
      title="Rename the account"
      close={close}
      action="Rename"
      isReady={name.trim() !== ""}
      submit={async () => {
        await send("PUT", `/accounts/${account.id}`, { name });
        changed();
      }}
    >
      <Field id="renamed" label="Name">
        <input id="renamed" class="input" value={name} maxLength={128} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
    </FormDialog>
  );
}

function Delete({ account, uses, close, changed }: { account: Account; uses: AccountUse[]; close: () => void; changed: () => void }) {
  return (
    <FormDialog
      title={`Delete “${account.name}”?`}
      close={close}
      action="Delete the account"
      isDanger
      submit={async () => {
        await send("DELETE", `/accounts/${account.id}${uses.length > 0 ? "?force=true" : ""}`);
        changed();
      }}
    >
      {uses.length === 0 ? (
        <p class="quiet small">Nothing uses it. Its service is told that the grant is over.</p>
      ) : (
        <Notice tone="bad" icon="alert">
          This breaks what uses it: {uses.map((use) => use.name).join(", ")}. Their runs fail, and say why, until they have another account.
        </Notice>
      )}
    </FormDialog>
  );
}
