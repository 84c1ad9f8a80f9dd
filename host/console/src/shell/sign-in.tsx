// Signing in, with an API key or with the one-time link that the first start of a server prints.

import { useEffect, useState } from "preact/hooks";
import { ApiError, isSignedOut, messageOf } from "../api/client";
import { path } from "../state/router";
import { session, signIn } from "../state/session";
import { Mark } from "../ui/icon";
import { Field, Notice } from "../ui/parts";

function why(error: unknown): string {
  if (!(error instanceof ApiError)) return messageOf(error);
  if (error.code === "unauthenticated") return "This server does not know the key. Check that it is whole, and that it was not revoked.";
  return error.message;
}

export function SignIn() {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const wasSignedIn = session.value !== undefined && isSignedOut.value;
  useEffect(() => {
    const token = path.value === "/sign-in" ? location.hash.slice(1) : "";
    if (token === "") return;
    // Out of the address, and of the history with it.
    history.replaceState(null, "", location.pathname);
    setBusy(true);
    signIn(token).catch(() => {
      setBusy(false);
      setError("This link was used already, or is older than 15 minutes. Sign in with an API key instead.");
    });
  }, []);
  const submit = async () => {
    setBusy(true);
    setError("");
    try {
      await signIn(key.trim());
    } catch (failed) {
      setError(why(failed));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div class="brand">
          <Mark />
          Wellspring
        </div>
        <div>
          <h1>Sign in</h1>
          <p class="quiet small">With an API key of your account. The first start of the server printed one.</p>
        </div>
        {wasSignedIn && !error && <Notice tone="warn">Your session has ended. Sign in again to go on where you were.</Notice>}
        <Field id="key" label="API key">
          <input id="key" class="input mono" type="password" autocomplete="current-password" autofocus required placeholder="wsk_…" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        </Field>
        {error && (
          <Notice tone="bad" icon="alert">
            {error}
          </Notice>
        )}
        <button class="button primary" type="submit" disabled={isBusy || key.trim() === ""}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
