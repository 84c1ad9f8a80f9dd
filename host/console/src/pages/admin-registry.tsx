// The components that the operator publishes to all users.

import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../api/client";
import type { Component, RegistryEntry } from "../api/types";
import { toast } from "../state/toasts";
import { Confirm, FormDialog } from "../ui/dialog";
import { Editor } from "../ui/editor";
import { Ago, Badge, Bones, Button, Card, Empty, Failure, PageHead } from "../ui/parts";
import { readRegistry } from "./deploy/registry";
import { isModule } from "./source/code";

const EXAMPLE = `export default {
  key: "app-what_it_does",
  name: "What it does",
  version: "0.0.1",
  type: "source",
  props: { http: "$.interface.http" },
  run(event) {
    this.$emit(event.body);
  },
};
`;

export function AdminRegistry() {
  const [entries, setEntries] = useState<RegistryEntry[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isAsked, setAsked] = useState(false);
  const [gone, setGone] = useState<RegistryEntry | undefined>(undefined);
  const load = async () => {
    try {
      setEntries(await readRegistry());
      setError(undefined);
    } catch (failed) {
      setError(failed instanceof ApiError ? failed : new ApiError(0, "unknown", String(failed)));
    }
  };
  useEffect(() => void load(), []);
  return (
    <div class="page">
      <PageHead
        title="Registry"
        says="Components that every user of this server can deploy"
        actions={
          <Button tone="primary" icon="plus" onClick={() => setAsked(true)}>
            Publish a component
          </Button>
        }
      />
      {error && <Failure error={error} retry={() => void load()} />}
      <Card label="Published">
        {!entries && !error && <Bones rows={4} />}
        {entries?.length === 0 && (
          <Empty icon="app" title="Nothing is published">
            What is published here is listed when a source is deployed. A component needs a key, such as <code>slack-new-message</code>, and a semantic version.
          </Empty>
        )}
        <div class="lines">
          {entries?.map((entry) => (
            <div class="line wrap" key={entry.key}>
              <span class="grow">
                <span class="cut name">{entry.name}</span>
                <span class="cut tiny faint mono">{entry.key}</span>
              </span>
              {entry.type === "action" && <Badge>action</Badge>}
              <span class="tiny faint number">{entry.version}</span>
              <span class="tiny faint when">
                <Ago at_ms={entry.updated_at * 1000} />
              </span>
              <Button tone="bare" isLittle icon="trash" says={`Unpublish ${entry.key}`} onClick={() => setGone(entry)} />
            </div>
          ))}
        </div>
      </Card>
      {isAsked && <Publish close={() => setAsked(false)} done={load} />}
      {gone && (
        <Confirm
          title={`Unpublish ${gone.key}?`}
          says="It cannot be deployed any more. Sources that were made from it go on."
          action="Unpublish"
          close={() => setGone(undefined)}
          act={async () => {
            await send("DELETE", `/admin/registry/${encodeURIComponent(gone.key)}`);
            await load();
          }}
        />
      )}
    </div>
  );
}

function Publish({ close, done }: { close: () => void; done: () => Promise<void> }) {
  const [code, setCode] = useState(EXAMPLE);
  return (
    <FormDialog
      title="Publish a component"
      close={close}
      action="Publish"
      submit={async () => {
        const made = await send<Component>("POST", "/admin/registry", { component_code: code, filename: isModule(code) ? "component.mjs" : "component.js" });
        toast(`${made.name} ${made.version} is published`);
        await done();
      }}
    >
      <p class="quiet small">Publishing a key again replaces it; sources keep the version that they were deployed from.</p>
      <Editor value={code} change={setCode} label="Code of the component" height="300px" />
    </FormDialog>
  );
}
