// JSON as a tree: branches open one by one, so that a large event costs what is looked at.

import { useState } from "preact/hooks";
import type { Json } from "../api/types";
import { Icon } from "./icon";

/** Entries of one branch that are shown at once. */
const STEP = 100;
const LONG_TEXT = 400;

export function Tree({ value, depth = 2, find = "" }: { value: Json; depth?: number; find?: string }) {
  return (
    <div class="tree">
      <Node value={value} depth={depth} find={find.trim().toLowerCase()} />
    </div>
  );
}

function Node({ name, value, depth, find }: { name?: string; value: Json; depth: number; find: string }) {
  const isBranch = typeof value === "object" && value !== null;
  const entries = isBranch ? Object.entries(value) : [];
  const isFound = find !== "" && isBranch && contains(value, find, 6);
  const [choice, setOpen] = useState<boolean | undefined>(undefined);
  const [shown, setShown] = useState(STEP);
  const isOpen = choice ?? (depth > 0 || isFound);
  const label = name === undefined ? null : (
    <>
      <span class="key">
        <Marked text={name} find={find} />
      </span>
      :{" "}
    </>
  );
  if (!isBranch || entries.length === 0) {
    return (
      <div class="leaf">
        {label}
        <Leaf value={value} find={find} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const size = `${entries.length} ${isList ? (entries.length === 1 ? "item" : "items") : entries.length === 1 ? "field" : "fields"}`;
  return (
    <div>
      <button type="button" class="twist" aria-expanded={isOpen} aria-label={`${name ?? "value"}, ${size}`} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" />
      </button>
      {label}
      <span class="faint">{isOpen ? (isList ? "[" : "{") : `${isList ? "[…]" : "{…}"} ${size}`}</span>
      {isOpen && (
        <>
          <ul>
            {entries.slice(0, shown).map(([key, child]) => (
              <li key={key}>
                <Node name={key} value={child} depth={depth - 1} find={find} />
              </li>
            ))}
          </ul>
          {entries.length > shown && (
            <button type="button" class="link leaf" onClick={() => setShown(shown + STEP * 10)}>
              {entries.length - shown} more
            </button>
          )}
          <span class="faint leaf">{isList ? "]" : "}"}</span>
        </>
      )}
    </div>
  );
}

function Leaf({ value, find }: { value: Json; find: string }) {
  const [isWhole, setWhole] = useState(false);
  if (value === null) return <span class="null">null</span>;
  if (typeof value === "string") {
    const text = isWhole || value.length <= LONG_TEXT ? value : value.slice(0, LONG_TEXT);
    return (
      <span class="string">
        "<Marked text={text} find={find} />"
        {text.length < value.length && (
          <button type="button" class="link" onClick={() => setWhole(true)}>
            {" "}
            … {value.length - text.length} more characters
          </button>
        )}
      </span>
    );
  }
  if (typeof value === "object") return <span class="faint">{Array.isArray(value) ? "[]" : "{}"}</span>;
  return (
    <span class={typeof value}>
      <Marked text={String(value)} find={find} />
    </span>
  );
}

/** Text with what is searched for set off. */
export function Marked({ text, find }: { text: string; find: string }) {
  if (find === "") return <>{text}</>;
  const at = text.toLowerCase().indexOf(find);
  if (at < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + find.length)}</mark>
      {text.slice(at + find.length)}
    </>
  );
}

/** Whether a word is anywhere in a value, as deep as is worth looking. */
export function contains(value: Json, find: string, depth = 8): boolean {
  if (typeof value !== "object" || value === null) return String(value).toLowerCase().includes(find);
  if (depth === 0) return false;
  for (const [key, child] of Object.entries(value)) if (key.toLowerCase().includes(find) || contains(child, find, depth - 1)) return true;
  return false;
}
