// What a source keeps between its runs in `$.service.db`.

import { useState } from "preact/hooks";
import { addressOfKey, get, list, send } from "../../api/client";
import type { Json, Source, StateKey } from "../../api/types";
import { usePage } from "../../state/resource";
import { may } from "../../state/session";
import { bytes, plural } from "../../state/time";
import { attempt } from "../../state/toasts";
import { Confirm, FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { Icon } from "../../ui/icon";
import { Bones, Button, Card, CopyButton, Empty, Failure, Field } from "../../ui/parts";
import { Tree } from "../../ui/tree";

export function StateTab({ source }: { source: Source }) {
  const path = `/sources/${source.id}/db`;
  const first = usePage<StateKey>(`${path}?limit=100`, { every_ms: 10_000 });
  const [more, setMore] = useState<StateKey[]>([]);
  const [asked, setAsked] = useState<"clear" | "new" | undefined>(undefined);
  const keys = [...(first.data?.data ?? []), ...more];
  const total = first.data?.page_info.total_count ?? 0;
  const next = () =>
    attempt(undefined, async () => {
      const page = await list<StateKey>(`${path}?limit=100&after=${encodeURIComponent(keys.at(-1)?.key ?? "")}`);
      setMore([...more, ...page.data]);
    });
  return (
    <div class="stack">
      <div class="row">
        <span class="small quiet">{first.data ? plural(total, "value") : ""}</span>
        <span class="row push">
          {may("write") && (
            <Button isLittle icon="plus" onClick={() => setAsked("new")}>
              Set a value
            </Button>
          )}
          {may("write") && total > 0 && (
            <Button isLittle tone="danger" icon="trash" onClick={() => setAsked("clear")}>
              Clear
            </Button>
          )}
        </span>
      </div>
      {first.error && <Failure error={first.error} retry={() => void first.reload()} />}
      <Card label="State">
        {!first.data && !first.error && <Bones rows={4} />}
        {first.data && keys.length === 0 && (
          <Empty icon="data" title="Nothing stored">
            A component with a prop of type <code>$.service.db</code> keeps values between its runs, such as the last item it has seen. They are here to look at and to change.
          </Empty>
        )}
        <div class="lines">
          {keys.map((one) => (
            <ValueRow key={one.key} path={path} entry={one} changed={() => void first.reload()} />
          ))}
        </div>
        {keys.length > 0 && keys.length < total && (
          <div class="line">
            <Button isLittle onClick={() => void next()}>
              Show more
            </Button>
          </div>
        )}
      </Card>
      {asked === "new" && <ValueDialog path={path} close={() => setAsked(undefined)} saved={() => void first.reload()} />}
      {asked === "clear" && (
        <Confirm
          title="Clear everything stored?"
          says="The source begins anew at its next run, as if it had just been deployed. It may emit what it has emitted before."
          action="Clear"
          close={() => setAsked(undefined)}
          act={async () => {
            await send("DELETE", path);
            await first.reload();
          }}
        />
      )}
    </div>
  );
}

function ValueRow({ path, entry, changed }: { path: string; entry: StateKey; changed: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [value, setValue] = useState<Json | undefined>(undefined);
  const [isEdited, setEdited] = useState(false);
  const address = addressOfKey(path, `${path}_value`, entry.key);
  const open = () => {
    setOpen(!isOpen);
    if (!isOpen) void attempt(undefined, async () => setValue((await get<{ value: Json }>(address)).value));
  };
  return (
    <div class="event">
      <button type="button" class="line" aria-expanded={isOpen} onClick={open}>
        <span class="twisty">
          <Icon name="chevron" />
        </span>
        <span class="grow cut mono small">{entry.key}</span>
        <span class="tiny faint number">{bytes(entry.size_bytes)}</span>
      </button>
      {isOpen && (
        <div class="detail stack tight">
          {value === undefined ? <span class="bone" style={{ width: "40%" }} /> : <Tree value={value} depth={3} />}
          <div class="row">
            {value !== undefined && <CopyButton text={() => JSON.stringify(value, null, 2)} says="Copy the value" />}
            {may("write") && value !== undefined && (
              <Button isLittle onClick={() => setEdited(true)}>
                Change
              </Button>
            )}
            {may("write") && (
              <Button
                isLittle
                tone="danger"
                onClick={() =>
                  void attempt("Removed", async () => {
                    await send("DELETE", address);
                    changed();
                  })
                }
              >
                Remove
              </Button>
            )}
          </div>
        </div>
      )}
      {isEdited && (
        <ValueDialog
          path={path}
          name={entry.key}
          value={value}
          close={() => setEdited(false)}
          saved={(next) => {
            setValue(next);
            changed();
          }}
        />
      )}
    </div>
  );
}

function ValueDialog({ path, name, value, close, saved }: { path: string; name?: string; value?: Json; close: () => void; saved: (value: Json) => void }) {
  const [key, setKey] = useState(name ?? "");
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  return (
    <FormDialog
      title={name === undefined ? "Set a value" : `Change “${name}”`}
      close={close}
      action="Save"
      isReady={(name !== undefined || key !== "") && text.trim() !== ""}
      submit={async () => {
        let parsed: Json;
        try {
          parsed = JSON.parse(text) as Json;
        } catch {
          throw new Error("The value is not valid JSON. Text needs quotes around it.");
        }
        await send("PUT", addressOfKey(path, `${path}_value`, key), { value: parsed });
        saved(parsed);
      }}
    >
      {name === undefined && (
        <Field id="state-key" label="Key">
          <input id="state-key" class="input mono" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        </Field>
      )}
      <div class="field">
        <span class="label">Value, as JSON</span>
        <Editor value={text} change={setText} language="json" label="Value, as JSON" height="200px" />
      </div>
    </FormDialog>
  );
}
