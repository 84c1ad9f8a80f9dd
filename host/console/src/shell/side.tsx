// The side: where one can go, and who is signed in.

import { useEffect, useState } from "preact/hooks";
import { Link, path } from "../state/router";
import { may, session, signOut } from "../state/session";
import { sources } from "../state/sources";
import { shownTheme, toggleTheme } from "../state/theme";
import { count } from "../state/time";
import { Icon, Mark } from "../ui/icon";
import { Button } from "../ui/parts";
import { AccountsDialog, isAccountsOpen } from "./accounts";
import { PLACES } from "./nav";
import { isPaletteOpen } from "./palette";

const isMac = navigator.platform.startsWith("Mac");

function isHere(to: string): boolean {
  return to === "/" ? path.value === "/" : path.value === to || path.value.startsWith(`${to}/`);
}

export function Side() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path.value]);
  const name = session.value?.username ?? "";
  return (
    <>
      <div class="topbar">
        <Button tone="bare" icon="menu" says="Menu" aria-expanded={isOpen} onClick={() => setOpen(true)} />
        <Link to="/" class="brand">
          <Mark />
          Wellspring
        </Link>
        <span class="push" />
        <Button tone="bare" icon="search" says="Search" onClick={() => (isPaletteOpen.value = true)} />
      </div>
      {isOpen && <div class="veil nav-veil" onClick={() => setOpen(false)} />}
      <div
        class={`side ${isOpen ? "open" : ""}`}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
        }}
      >
        <Link to="/" class="brand">
          <Mark />
          Wellspring
        </Link>
        <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
          <Icon name="search" />
          Find…
          <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <nav class="nav" aria-label="Console">
          {PLACES.map(({ title, places }) => {
            const shown = places.filter((place) => place.needs === undefined || may(place.needs));
            return (
              shown.length > 0 && (
                <div class="nav" key={title ?? ""}>
                  {title && <h2>{title}</h2>}
                  {shown.map((place) => (
                    <Link key={place.to} to={place.to} aria-current={isHere(place.to) ? "page" : undefined}>
                      <Icon name={place.icon} />
                      {place.text}
                      {place.to === "/sources" && sources.value.total > 0 && <span class="tally">{count(sources.value.total)}</span>}
                    </Link>
                  ))}
                </div>
              )
            );
          })}
        </nav>
        <div class="who">
          <button type="button" class="row me" title="Accounts" onClick={() => (isAccountsOpen.value = true)}>
            <span class="face" aria-hidden="true">
              {name.slice(0, 1)}
            </span>
            <span class="unseen">Accounts, </span>
            <span class="cut">{name}</span>
            <span class="unseen"> is in use</span>
          </button>
          <span class="push" />
          <Button tone="bare" isLittle icon={shownTheme.value === "dark" ? "sun" : "moon"} says={shownTheme.value === "dark" ? "Light theme" : "Dark theme"} onClick={toggleTheme} />
          <Button tone="bare" isLittle icon="out" says="Sign out" onClick={() => void signOut()} />
        </div>
      </div>
      {isAccountsOpen.value && <AccountsDialog />}
    </>
  );
}
