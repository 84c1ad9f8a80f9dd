// Who is signed in.

import { computed, signal } from "@preact/signals";
import { ApiError, get, isSignedOut, send } from "../api/client";
import type { Scope, Session } from "../api/types";
import { forgetAll } from "./resource";
import { forgetSources } from "./sources";

export const session = signal<Session | undefined>(undefined);
/** Until it is known whether there is a session. */
export const isAsking = signal(true);

export const isSignedIn = computed(() => session.value !== undefined && !isSignedOut.value);

export function may(scope: Scope): boolean {
  return session.value?.scopes.includes(scope) ?? false;
}

/** Asks whether the cookie of an earlier visit still counts. */
export async function resume(): Promise<void> {
  try {
    const sessions = await get<Session[]>("/sessions");
    session.value = sessions.find((one) => one.current);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  } finally {
    isSignedOut.value = false;
    isAsking.value = false;
  }
}

/** A browser has one account in use: other tabs begin anew when it changes. */
const CHANGED = "wellspring.session";

addEventListener("storage", (event) => {
  if (event.key === CHANGED) location.reload();
});

function use(next: Session | undefined): void {
  forgetAll();
  forgetSources();
  isSignedOut.value = false;
  session.value = next;
  localStorage.setItem(CHANGED, next?.id ?? "");
}

/** With an API key, or with the token of a one-time link in its place. */
export async function signIn(key: string): Promise<void> {
  const begun = await send<Session>("POST", "/sessions", undefined, key);
  use({ ...begun, current: true });
}

/** To another account that this browser is signed in to. */
export async function switchTo(id: string): Promise<void> {
  use(await send<Session>("PUT", "/sessions/current", { session_id: id }));
}

/** Of the account in use; another one that the browser is signed in to is used then. */
export async function signOut(): Promise<void> {
  await send("DELETE", "/sessions/current").catch(() => undefined);
  const [next] = await get<Session[]>("/sessions/accounts").catch(() => []);
  use(next);
}
