// The command palette: everything by its name.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { navigate } from "../state/router";
import { may, signOut } from "../state/session";
import { searchSources, sources } from "../state/sources";
import { toggleTheme } from "../state/theme";
import { Icon, type IconName } from "../ui/icon";
import { isAccountsOpen } from "./accounts";
import { PLACES } from "./nav";
import { isHelpOpen } from "./shortcuts";

export const isPaletteOpen = signal(false);

interface Command {
  id: string;
  text: string;
  hint?: string;
  icon: IconName;
  act: () => void;
}

/** Sources that are offered; more words find others. */
const SOURCES = 12;

function commands(): Command[] {
  const places = PLACES.flatMap(({ places }) => places).filter((place) => place.needs === undefined || may(place.needs));
  return [
    ...places.map((place) => ({ id: place.to, text: place.text, hint: place.key ? `g ${place.key}` : undefined, icon: place.icon, act: () => navigate(place.to) })),
    ...(may("deploy") ? [{ id: "deploy", text: "Deploy a source", hint: "n", icon: "plus" as const, act: () => navigate("/sources/new") }] : []),
    ...(may("write") ? [{ id: "new-webhook", text: "Create a webhook", icon: "plus" as const, act: () => navigate("/webhooks?new=1") }] : []),
    { id: "theme", text: "Switch between light and dark", icon: "moon", act: toggleTheme },
    { id: "help", text: "Keyboard shortcuts", hint: "?", icon: "info", act: () => (isHelpOpen.value = true) },
    { id: "docs", text: "API reference", icon: "external", act: () => open("/docs", "_blank", "noopener") },
    { id: "accounts", text: "Switch to another account", icon: "account", act: () => (isAccountsOpen.value = true) },
    { id: "out", text: "Sign out", icon: "out", act: () => void signOut() },
  ];
}

function found(query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = commands().filter((command) => words.every((word) => command.text.toLowerCase().includes(word)));
  const rows = words.length === 0 ? [] : searchSources(query).slice(0, SOURCES);
  const named: Command[] = rows.map((row) => ({ id: row.id, text: row.name, hint: row.id, icon: "source", act: () => navigate(`/sources/${row.id}`) }));
  const id = query.trim();
  const direct: Command[] = /^[0-9A-Za-z]{27}$/.test(id) ? [{ id: "run", text: `Run ${id}`, icon: "run", act: () => navigate(`/runs/${id}`) }] : [];
  return [...direct, ...fitting, ...named];
}

export function Palette() {
  return isPaletteOpen.value ? <Opened /> : null;
}

function Opened() {
  const element = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const shown = useMemo(() => found(query), [query, sources.value]);
  const chosen = Math.min(at, shown.length - 1);
  useEffect(() => element.current?.showModal(), []);
  useEffect(() => element.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [chosen]);
  const close = () => {
    isPaletteOpen.value = false;
  };
  const act = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.act();
  };
  return (
    <dialog
      ref={element}
      class="palette"
      aria-label="Find"
      onClose={close}
      onClick={(event) => {
        if (event.target === element.current) close();
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Find a page, a source or an action"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={shown[chosen] ? `found-${chosen}` : undefined}
        placeholder="Find a page, a source or an action"
        value={query}
        autofocus
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : shown.length - 1;
            setAt(shown.length === 0 ? 0 : (chosen + step) % shown.length);
          }
          if (event.key === "Enter") {
            event.preventDefault();
            act(shown[chosen]);
          }
        }}
      />
      <ul id="found" role="listbox" aria-label="Found">
        {shown.map((command, index) => (
          <li key={command.id} id={`found-${index}`} role="option" aria-selected={index === chosen} onMouseMove={() => setAt(index)} onClick={() => act(command)}>
            <Icon name={command.icon} />
            <span class="cut">{command.text}</span>
            {command.hint && <span class="push faint tiny mono">{command.hint}</span>}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="quiet small body" style={{ padding: "0 20px 20px" }}>Nothing fits. Sources are found by their name or their id.</p>}
    </dialog>
  );
}
