// Keys that work everywhere but in fields.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { navigate } from "../state/router";
import { may } from "../state/session";
import { toggleTheme } from "../state/theme";
import { Dialog } from "../ui/dialog";
import { PLACES } from "./nav";
import { isPaletteOpen } from "./palette";

export const isHelpOpen = signal(false);

/** How long `g` waits for its second key. */
const WAIT_MS = 1200;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.shadowRoot !== null || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function places() {
  return PLACES.flatMap(({ places }) => places).filter((place) => place.key && (place.needs === undefined || may(place.needs)));
}

export function Shortcuts() {
  useEffect(() => {
    let wasG = 0;
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
      if (Date.now() - wasG < WAIT_MS) {
        wasG = 0;
        const place = places().find((one) => one.key === event.key);
        if (place) {
          event.preventDefault();
          navigate(place.to);
          return;
        }
      }
      if (event.key === "g") wasG = Date.now();
      if (event.key === "?") isHelpOpen.value = true;
      if (event.key === "t") toggleTheme();
      if (event.key === "n" && may("deploy")) navigate("/sources/new");
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>("[data-search]")?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return isHelpOpen.value ? <Help /> : null;
}

function Help() {
  const general: [string, string][] = [
    ["Ctrl K", "Find anything"],
    ["/", "Search this page"],
    ["n", "Deploy a source"],
    ["t", "Light or dark"],
    ["?", "These shortcuts"],
  ];
  return (
    <Dialog title="Keyboard shortcuts" close={() => (isHelpOpen.value = false)}>
      <div class="columns keys">
        <dl>
          {general.map(([key, text]) => (
            <div class="row" key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <dl>
          {places().map((place) => (
            <div class="row" key={place.to}>
              <dt>
                <kbd>g</kbd> <kbd>{place.key}</kbd>
              </dt>
              <dd>{place.text}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
