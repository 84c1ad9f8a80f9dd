// Light, dark, or what the system says.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "wellspring.theme";
const isDark = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = signal<Theme>(stored());
export const shownTheme = signal<"light" | "dark">("light");

function show(): void {
  shownTheme.value = theme.value === "system" ? (isDark.matches ? "dark" : "light") : theme.value;
  document.documentElement.dataset["theme"] = shownTheme.value;
}

effect(show);
isDark.addEventListener("change", show);

export function setTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  theme.value = next;
}

export function toggleTheme(): void {
  setTheme(shownTheme.value === "dark" ? "light" : "dark");
}
