// API keys, and the browsers that are signed in.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { Key, Scope, Session } from "../api/types";
import { useResource } from "../state/resource";
import { may, signOut } from "../state/session";
import { attempt } from "../state/toasts";
import { Confirm, Dialog, FormDialog } from "../ui/dialog";
import { Ago, Badge, Bones, Button, Card, Copyable, Failure, Field, PageHead } from "../ui/parts";

export function Keys() {
  const keys = useResource<Key[]>("/users/me/keys");
  const sessions = useResource<Session[]>("/sessions");
  const [isAsked, setAsked] = useState(false);
  const [made, setMade] = useState("");
  const [gone, setGone] = useState<Key | undefined>(undefined);
  return (
    <div class="page">
      <PageHead
        title="API keys"
        says="For programs; the console uses the one you signed in with"
        actions={
          may("write") && (
            <Button tone="primary" icon="plus" onClick={() => setAsked(true)}>
              Make a key
            </Button>
          )
        }
      />
      {keys.error && <Failure error={keys.error} retry={() => void keys.reload()} />}
      <Card label="Keys">
        {!keys.data && !keys.error && <Bones rows={3} />}
        <div class="lines">
          {keys.data?.map((key) => (
            <div class="line" key={key.id}>
              <span class="grow cut">
                <span class="strong">{key.name ?? "Unnamed"}</span> <span class="tiny faint mono">{key.id}</span>
              </span>
              {key.current && <Badge tone="accent">this session's</Badge>}
              <Badge>{key.scopes === null ? "everything" : key.scopes.join(", ")}</Badge>
              <span class="tiny faint">
                {key.last_used_at ? (
                  <>
                    used <Ago at_ms={key.last_used_at * 1000} />
                  </>
                ) : (
                  "never used"
                )}
                {key.expires_at && (
                  <>
                    , expires <Ago at_ms={key.expires_at * 1000} />
                  </>
                )}
              </span>
              {may("write") && !key.current && <Button tone="bare" isLittle icon="trash" says={`Revoke ${key.name ?? key.id}`} onClick={() => setGone(key)} />}
            </div>
          ))}
        </div>
      </Card>
      <Card title="Signed-in browsers">
        {!sessions.data && <Bones rows={2} />}
        <div class="lines">
          {sessions.data?.map((one) => (
            <div class="line small" key={one.id}>
              <span class="grow cut">
                <span class="mono tiny">{one.id}</span> {one.current && <Badge tone="accent">this one</Badge>}
              </span>
              <span class="tiny faint">
                since <Ago at_ms={one.created_at * 1000} />, ends <Ago at_ms={one.expires_at * 1000} />
              </span>
              <Button
                isLittle
                onClick={() =>
                  one.current
                    ? void signOut()
                    : void attempt("Signed out", async () => {
                        await send("DELETE", `/sessions/${one.id}`);
                        await sessions.reload();
                      })
                }
              >
                Sign out
              </Button>
            </div>
          ))}
        </div>
      </Card>
      {isAsked && (
        <NewKey
          close={() => setAsked(false)}
          made={(key) => {
            setMade(key);
            void keys.reload();
          }}
        />
      )}
      {made && <ShownKey value={made} close={() => setMade("")} />}
      {gone && (
        <Confirm
          title={`Revoke “${gone.name ?? gone.id}”?`}
          says="Programs that use it are refused from now on, and browsers that signed in with it are signed out."
          action="Revoke the key"
          close={() => setGone(undefined)}
          act={async () => {
            await send("DELETE", `/users/me/keys/${gone.id}`);
            await keys.reload();
          }}
        />
      )}
    </div>
  );
}

export function ShownKey({ value, close }: { value: string; close: () => void }) {
  return (
    <Dialog title="The new API key" close={close} foot={<Button tone="primary" onClick={close}>I have copied it</Button>}>
      <p class="quiet small">It is shown only now. Keep it where your programs keep their secrets.</p>
      <Copyable text={value} says="Copy the key" />
    </Dialog>
  );
}

const SCOPES: [Scope, string][] = [
  ["read", "Read everything but secrets"],
  ["write", "Change webhooks, subscriptions, accounts and keys; run what is deployed"],
  ["deploy", "Change components and sources"],
  ["admin", "The operator's pages"],
];

function NewKey({ close, made }: { close: () => void; made: (key: string) => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["read"]);
  const [days, setDays] = useState("90");
  const offered = SCOPES.filter(([scope]) => may(scope));
  return (
    <FormDialog
      title="Make an API key"
      close={close}
      action="Make the key"
      isReady={scopes.length > 0}
      submit={async () => {
        const expires_at = days === "" ? undefined : Math.floor(Date.now() / 1000) + Number(days) * 86_400;
        const key = await send<{ api_key: string }>("POST", "/users/me/keys", { scopes, ...(name ? { name } : {}), ...(expires_at ? { expires_at } : {}) });
        made(key.api_key);
      }}
    >
      <Field id="key-name" label="Name" isOptional>
        <input id="key-name" class="input" value={name} maxLength={128} placeholder="CI" onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <fieldset class="field" style={{ border: 0, padding: 0, margin: 0 }}>
        <legend class="label small strong">It may</legend>
        {offered.map(([scope, text]) => (
          <label class="check" key={scope}>
            <input
              type="checkbox"
              checked={scope === "read" || scopes.includes(scope)}
              disabled={scope === "read"}
              onChange={(event) => setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
            />
            {text}
          </label>
        ))}
      </fieldset>
      <Field id="key-expiry" label="Expires">
        <select id="key-expiry" class="input" value={days} onChange={(event) => setDays(event.currentTarget.value)}>
          <option value="1">in a day</option>
          <option value="30">in 30 days</option>
          <option value="90">in 90 days</option>
          <option value="365">in a year</option>
          <option value="">never</option>
        </select>
      </Field>
    </FormDialog>
  );
}
