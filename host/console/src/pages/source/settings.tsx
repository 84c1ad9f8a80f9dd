// Props, the name and what is recorded of a source.

import { useState } from "preact/hooks";
import { send, sendFollowed } from "../../api/client";
import type { Component, Json, Source } from "../../api/types";
import { may } from "../../state/session";
import { loadSources } from "../../state/sources";
import { attempt, toast } from "../../state/toasts";
import { useWork } from "../../state/work";
import { Bones, Button, Card, Failure, Field } from "../../ui/parts";
import { ProgressLine } from "../deploy/progress";
import { PropsForm, valuesOf, wrongsOf } from "../deploy/props";

export function SettingsTab({ source, component, changed }: { source: Source; component: Component | undefined; changed: (source: Source) => void }) {
  return (
    <div class="two even">
      <div class="stack">
        <Name source={source} changed={changed} />
        <Recording source={source} changed={changed} />
      </div>
      {component ? (
        <Props source={source} component={component} changed={changed} />
      ) : (
        <Card title="Props">
          <Bones rows={3} />
        </Card>
      )}
    </div>
  );
}

interface PartProps {
  source: Source;
  changed: (source: Source) => void;
}

function Props({ source, component, changed }: PartProps & { component: Component }) {
  const initial = () => valuesOf(component.configurable_props, source.configured_props);
  const [values, setValues] = useState<Record<string, Json>>(initial);
  const { isBusy, error, progress, told, act } = useWork();
  const save = () =>
    act(async () => {
      changed(await sendFollowed<Source>("PUT", `/sources/${source.id}`, { configured_props: values as Json, active: source.active }, told));
      toast("Saved; the source runs with the new props");
    });
  return (
    <Card title="Props">
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <PropsForm componentId={component.id} props={component.configurable_props} values={values} change={setValues} wrongs={wrongsOf(error)} kept={source.configured_props} />
        {progress && <ProgressLine progress={progress} />}
        {error && <Failure error={error} />}
        {may("deploy") && (
          <div class="row">
            <Button type="submit" tone="primary" disabled={isBusy}>
              Save the props
            </Button>
            <Button onClick={() => setValues(initial())}>Reset</Button>
          </div>
        )}
      </form>
    </Card>
  );
}

function Name({ source, changed }: PartProps) {
  const [name, setName] = useState(source.name);
  return (
    <Card title="Name">
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt("Renamed", async () => {
            changed(await send<Source>("PUT", `/sources/${source.id}`, { name, active: source.active }));
            void loadSources();
          });
        }}
      >
        <Field id="source-name" label="Name">
          <input id="source-name" class="input" value={name} maxLength={128} disabled={!may("deploy")} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        {may("deploy") && name !== source.name && name !== "" && (
          <div>
            <Button type="submit" tone="primary">
              Rename
            </Button>
          </div>
        )}
      </form>
    </Card>
  );
}

function Recording({ source, changed }: PartProps) {
  const [mode, setMode] = useState(source.recording ?? "errors");
  const [keep, setKeep] = useState(source.keep_runs === undefined ? "" : String(source.keep_runs));
  const [redact, setRedact] = useState((source.redact ?? []).join("\n"));
  const save = () =>
    attempt("Saved", async () => {
      const paths = redact.split("\n").map((line) => line.trim()).filter(Boolean);
      changed(await send<Source>("PUT", `/sources/${source.id}/recording`, { mode, redact: paths, ...(keep === "" ? {} : { keep_runs: Number(keep) }) }));
    });
  return (
    <Card title="Recording of runs">
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Field id="recording" label="Which runs" hint="A recorded run can be replayed exactly, also on changed code.">
          <select id="recording" class="input" value={mode} disabled={!may("deploy")} onChange={(event) => setMode(event.currentTarget.value)}>
            <option value="off">None</option>
            <option value="errors">Those that fail</option>
            <option value="1/100">Those that fail, and one in 100</option>
            <option value="1/10">Those that fail, and one in 10</option>
            <option value="all">All</option>
            {!["off", "errors", "all", "1/10", "1/100"].includes(mode) && <option value={mode}>{mode}</option>}
          </select>
        </Field>
        <Field id="keep" label="Records of runs to keep" isOptional hint="As many as the server keeps, when empty.">
          <input id="keep" class="input number" inputMode="numeric" pattern="[0-9]*" value={keep} disabled={!may("deploy")} onInput={(event) => setKeep(event.currentTarget.value)} />
        </Field>
        <Field id="redact" label="Not to be shown" isOptional hint="Paths of the input and output of runs, one on each line, such as body.password">
          <textarea id="redact" class="input mono" value={redact} disabled={!may("deploy")} onInput={(event) => setRedact(event.currentTarget.value)} />
        </Field>
        {may("deploy") && (
          <div>
            <Button type="submit">Save</Button>
          </div>
        )}
      </form>
    </Card>
  );
}
