// Addresses: everything that can be looked at has one below /console.

import { computed, signal } from "@preact/signals";
import type { ComponentChildren, TargetedMouseEvent } from "preact";

const BASE = "/console";

const current = signal(read());

export const path = computed(() => current.value.path);
export const search = computed(() => current.value.search);

function read(): { path: string; search: URLSearchParams } {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : location.pathname;
  return { path: path.replace(/\/+$/, "") || "/", search: new URLSearchParams(location.search) };
}

addEventListener("popstate", () => {
  current.value = read();
});

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  const address = BASE + to;
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  const from = current.value.path;
  current.value = read();
  if (from !== current.value.path && !options.replace) scrollTo(0, 0);
}

/** Changes the query string without leaving the page; empty values go. */
export function setSearch(changes: Record<string, string | undefined>): void {
  const next = new URLSearchParams(current.value.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  navigate(current.value.path + (text ? `?${text}` : ""), { replace: true });
}

/** `/sources/:id` against a path; none when it does not fit. */
export function match(pattern: string, given: string): Record<string, string> | undefined {
  const wanted = pattern.split("/");
  const parts = given.split("/");
  if (wanted.length !== parts.length) return undefined;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = parts[index] ?? "";
    if (part.startsWith(":")) found[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return found;
}

interface LinkProps {
  to: string;
  class?: string;
  title?: string;
  children?: ComponentChildren;
  onClick?: (event: TargetedMouseEvent<HTMLAnchorElement>) => void;
  "aria-current"?: "page";
  "aria-label"?: string;
}

/** A link within the console: a real address, opened without loading the page anew. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={BASE + to}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(to);
      }}
    />
  );
}
