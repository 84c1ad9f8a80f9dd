// The accounts that this browser is signed in to.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Session } from "../api/types";
import { useResource } from "../state/resource";
import { navigate } from "../state/router";
import { signIn, switchTo } from "../state/session";
import { attempt } from "../state/toasts";
import { Dialog } from "../ui/dialog";
import { Badge, Bones, Button, Field } from "../ui/parts";

export const isAccountsOpen = signal(false);

export function AccountsDialog() {
  const accounts = useResource<Session[]>("/sessions/accounts");
  const [key, setKey] = useState("");
  const close = () => {
    isAccountsOpen.value = false;
  };
  const change = async (text: string, work: () => Promise<void>) => {
    if (!(await attempt(text, work))) return;
    close();
    navigate("/");
  };
  return (
    <Dialog title="Accounts" close={close}>
      <div class="card lines">
        {!accounts.data && <Bones rows={1} />}
        {accounts.data?.map((account) => (
          <div class="line" key={account.id}>
            <span class="face" aria-hidden="true">
              {account.username.slice(0, 1)}
            </span>
            <span class="grow cut strong">{account.username}</span>
            {account.current ? (
              <Badge tone="accent">in use</Badge>
            ) : (
              <Button isLittle onClick={() => void change(`Signed in as ${account.username}`, () => switchTo(account.id))}>
                Switch
              </Button>
            )}
          </div>
        ))}
      </div>
      <form
        class="stack tight"
        onSubmit={(event) => {
          event.preventDefault();
          void change("Signed in", () => signIn(key.trim()));
        }}
      >
        <Field id="other-key" label="Add an account, with an API key of it">
          <div class="row">
            <input id="other-key" class="input mono" type="password" autocomplete="off" placeholder="wsk_…" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
            <Button type="submit" tone="primary" disabled={key.trim() === ""}>
              Sign in
            </Button>
          </div>
        </Field>
      </form>
    </Dialog>
  );
}
