// The whole console: signing in, or the shell around a page.

import { useEffect } from "preact/hooks";
import { isSignedOut } from "../api/client";
import { navigate, path } from "../state/router";
import { isAsking, resume, session } from "../state/session";
import { loadSources } from "../state/sources";
import "../state/theme";
import { Toasts } from "./toasts";
import { Palette } from "./palette";
import { Routes } from "./routes";
import { Shortcuts } from "./shortcuts";
import { Side } from "./side";
import { SignIn } from "./sign-in";

export function App() {
  useEffect(() => {
    // A one-time link signs in itself; the cookie of another session must not get in its way.
    if (path.value === "/sign-in" && location.hash !== "") isAsking.value = false;
    else void resume();
  }, []);
  return (
    <>
      <Inside />
      <Toasts />
    </>
  );
}

function Inside() {
  const isIn = session.value !== undefined && !isSignedOut.value;
  const user = session.value?.user_id;
  useEffect(() => {
    if (isIn) void loadSources();
  }, [isIn, user]);
  useEffect(() => {
    if (isIn && path.value === "/sign-in") navigate("/", { replace: true });
  }, [isIn, path.value]);
  if (isAsking.value) return null;
  if (!isIn) return <SignIn />;
  return (
    <div class="shell" key={user}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Side />
      <main class="main" id="main" tabIndex={-1}>
        <Routes />
      </main>
      <Palette />
      <Shortcuts />
    </div>
  );
}
