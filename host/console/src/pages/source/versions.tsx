// The versions of a source: what changed with each, and the way back.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Component, Json, Source, SourceVersion } from "../../api/types";
import { invalidate, useResource } from "../../state/resource";
import { toast } from "../../state/toasts";
import { Differences } from "../../ui/differences";
import { FormDialog } from "../../ui/dialog";
import { Bones, Failure } from "../../ui/parts";
import { Versions } from "../../ui/versions";

export function VersionsTab({ source, changed }: { source: Source; changed: (source: Source) => void }) {
  const versions = useResource<SourceVersion[]>(`/sources/${source.id}/versions`);
  return (
    <Versions
      versions={versions}
      line={(version, before) => (
        <span class="grow cut small">
          {version.component_name} {version.component_version}
          <span class="tiny faint"> {before ? changes(version, before).join(", ") : ""}</span>
        </span>
      )}
      difference={(before, after) => <Changed before={before} after={after} />}
      rollBack={(version, close) => (
        <RollBack
          source={source}
          version={version}
          close={close}
          done={(rolled) => {
            changed(rolled);
            invalidate(`/sources/${source.id}`);
            toast(`Rolled back to version ${version.version}`);
          }}
        />
      )}
      onlyOne="A change of the code or the props makes the next version; earlier ones are listed here."
    />
  );
}

function RollBack({ source, version, close, done }: { source: Source; version: SourceVersion; close: () => void; done: (source: Source) => void }) {
  const [keepsProps, setKeepsProps] = useState(false);
  return (
    <FormDialog
      title={`Roll back to version ${version.version}?`}
      close={close}
      action="Roll back"
      submit={async () => done(await send<Source>("POST", `/sources/${source.id}/rollback`, { version: version.version, keep_props: keepsProps }))}
    >
      <p class="quiet small">
        {version.component_name} {version.component_version} is deployed once more, as the next version: the hooks of the source run. What it stores and emitted stays.
      </p>
      <label class="check">
        <input type="checkbox" checked={keepsProps} onChange={(event) => setKeepsProps(event.currentTarget.checked)} />
        Go back to the code alone, and keep the props
      </label>
    </FormDialog>
  );
}

/** The code of both is read only when it is asked for. */
function Changed({ before, after }: { before: SourceVersion; after: SourceVersion }) {
  const isSameCode = before.digest === after.digest;
  const old = useResource<Component>(isSameCode ? undefined : `/components/${before.component_id}`);
  const next = useResource<Component>(isSameCode ? undefined : `/components/${after.component_id}`);
  const error = old.error ?? next.error;
  const props = [before, after].map((version) => JSON.stringify(sorted(version.configured_props), null, 2)) as [string, string];
  return (
    <div class="detail stack tight">
      {!isSameCode && (
        <>
          <h3 class="small">Code</h3>
          {error ? <Failure error={error} /> : old.data && next.data ? <Code before={old.data} after={next.data} /> : <Bones rows={3} />}
        </>
      )}
      {props[0] !== props[1] && (
        <>
          <h3 class="small">Props</h3>
          <Differences before={props[0]} after={props[1]} />
        </>
      )}
      {isSameCode && props[0] === props[1] && <p class="small quiet">A secret value changed; it is not shown.</p>}
    </div>
  );
}

function Code({ before, after }: { before: Component; after: Component }) {
  if (before.code !== after.code) return <Differences before={before.code} after={after.code} />;
  const packages = [before, after].map((one) => one.dependencies.map(({ name, version }) => `${name} ${version}`).join("\n")) as [string, string];
  return packages[0] === packages[1] ? <p class="small quiet">The entry is the same; another file of the component changed.</p> : <Differences before={packages[0]} after={packages[1]} />;
}

function sorted(props: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(Object.entries(props).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What is different from the version before. */
function changes(version: SourceVersion, before: SourceVersion): string[] {
  const names = new Set([...Object.keys(version.configured_props), ...Object.keys(before.configured_props)]);
  const props = [...names].filter((name) => JSON.stringify(version.configured_props[name]) !== JSON.stringify(before.configured_props[name]));
  const found = [...(version.digest === before.digest ? [] : ["code"]), ...props];
  return found.length === 0 ? ["a secret value"] : found;
}
