// Deploys a source: its code, then what its props ask for.

import { useRef, useState } from "preact/hooks";
import { type ApiError, get, type Progress, sendFollowed } from "../api/client";
import type { Component, Json, Source } from "../api/types";
import { navigate } from "../state/router";
import { loadSources } from "../state/sources";
import { toast } from "../state/toasts";
import { useWork } from "../state/work";
import { Editor, type EditorProblem } from "../ui/editor";
import { Badge, Button, Card, Choices, Failure, Field, Notice, PageHead } from "../ui/parts";
import { problemsOf, ProgressLine } from "./deploy/progress";
import { PropsForm, valuesOf, wrongsOf } from "./deploy/props";
import { RegistryPicker } from "./deploy/registry";
import { TEMPLATES } from "./deploy/templates";
import { TryIt } from "./deploy/trial";
import { isModule } from "./source/code";

type From = "write" | "address" | "registry";

export function Deploy() {
  const [from, setFrom] = useState<From>("write");
  const [code, setCode] = useState(TEMPLATES[0]?.code ?? "");
  const [file, setFile] = useState("");
  const [address, setAddress] = useState("");
  const [component, setComponent] = useState<Component | undefined>(undefined);
  const [problems, setProblems] = useState<EditorProblem[]>([]);
  const { isBusy, error, progress, told, act: attempt, forget } = useWork();

  const act = (work: () => Promise<void>) => {
    setProblems([]);
    return attempt(work, (refused) => component || setProblems(problemsOf(refused)));
  };
  const pick = (key: string) =>
    act(async () => {
      setAddress(key);
      setComponent(undefined);
      setComponent(await get<Component>(`/components/registry/${encodeURIComponent(key)}`));
    });
  const read = () =>
    act(async () => {
      const filename = file || (isModule(code) ? "component.mjs" : "component.js");
      const body = from === "write" ? { component_code: code, filename, temporary: true } : { component_url: address, temporary: true };
      return setComponent(await sendFollowed<Component>("POST", "/components", body, told));
    });
  return (
    <div class="page">
      <PageHead crumbs={[{ to: "/sources", text: "Sources" }]} title="Deploy a source" says="A component runs by a request or a timer, and emits events. It needs nothing but its code." />
      <div class="deploy">
        <div class="stack">
          <div class="row wrap">
            <Choices<From>
              label="Where the code comes from"
              value={from}
              change={(value) => {
                setFrom(value);
                setAddress("");
                setComponent(undefined);
                forget();
              }}
              options={[
                { value: "write", text: "Write or paste" },
                { value: "address", text: "From an address" },
                { value: "registry", text: "From the registry" },
              ]}
            />
            {from === "write" && <Upload read={(name, text) => (setCode(text), setFile(name), setComponent(undefined))} />}
          </div>
          {from === "registry" && <RegistryPicker picked={address} pick={(entry) => void pick(entry.key)} />}
          {from === "write" && (
            <>
              <div class="templates" role="group" aria-label="Begin with an example">
                <span class="small quiet">Begin with</span>
                {TEMPLATES.map((template) => (
                  <Button
                    key={template.name}
                    isLittle
                    onClick={() => {
                      setCode(template.code);
                      setFile("");
                      setComponent(undefined);
                    }}
                  >
                    {template.name}
                  </Button>
                ))}
              </div>
              <Editor
                value={code}
                change={(value) => {
                  setCode(value);
                  if (component && value !== component.code) setComponent(undefined);
                }}
                label="Code of the component"
                height="min(62vh, 640px)"
                problems={problems}
                submit={() => void read()}
              />
            </>
          )}
          {from === "address" && (
            <Card>
              <div class="body">
                <Field id="address" label="Address of the code" hint="The server fetches it once, now.">
                  <input id="address" class="input mono" value={address} placeholder="https://…" onInput={(event) => (setAddress(event.currentTarget.value), setComponent(undefined))} />
                </Field>
              </div>
            </Card>
          )}
        </div>
        <div class="stack">
          {error && <Failure error={error} />}
          {progress && <ProgressLine progress={progress} />}
          {component ? (
            <Configure key={component.id} component={component} isBusy={isBusy} act={act} told={told} error={error} fromRegistry={from === "registry"} />
          ) : (
            <Card title="Next">
              {from === "registry" ? (
                <p class="body small quiet">{isBusy ? "Reading…" : "Pick a component of the list. Then its props are asked for, and it can be tried before it is deployed."}</p>
              ) : (
                <div class="body stack">
                  <p class="small quiet">The server loads the code, installs the npm packages that it imports, and reads which props it has. Nothing runs yet.</p>
                  <div>
                    <Button tone="primary" disabled={isBusy || (from === "address" && address === "")} onClick={() => void read()}>
                      {isBusy ? "Reading…" : "Continue"}
                    </Button>
                  </div>
                </div>
              )}
            </Card>
          )}
        </div>
      </div>
    </div>
  );
}

function Upload({ read }: { read: (name: string, text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>Upload a file</Button>
      <input
        ref={input}
        class="unseen"
        type="file"
        tabIndex={-1}
        aria-label="A file with the code"
        accept=".js,.mjs,.cjs,.ts,text/javascript"
        onChange={(event) => {
          const chosen = event.currentTarget.files?.[0];
          if (chosen) void chosen.text().then((text) => read(chosen.name, text));
        }}
      />
    </>
  );
}

interface ConfigureProps {
  component: Component;
  isBusy: boolean;
  act: (work: () => Promise<void>) => Promise<void>;
  told: (progress: Progress) => void;
  error: ApiError | undefined;
  fromRegistry: boolean;
}

function Configure({ component, isBusy, act, told, error, fromRegistry }: ConfigureProps) {
  const [name, setName] = useState(component.name);
  const [values, setValues] = useState<Record<string, Json>>(() => valuesOf(component.configurable_props));
  const [isRecorded, setRecorded] = useState(true);
  const deploy = () =>
    act(async () => {
      const what = fromRegistry && component.key ? { key: component.key } : { component_id: component.id };
      const source = await sendFollowed<Source>("POST", "/sources", { ...what, name, configured_props: values as Json }, told);
      if (isRecorded) await sendFollowed("PUT", `/sources/${source.id}/recording`, { mode: "all" }, told).catch(() => undefined);
      toast("Deployed");
      void loadSources();
      navigate(`/sources/${source.id}`);
    });
  if (component.type === "action") return <Notice tone="warn" icon="alert">This component is an action: it is a step of a workflow. A source has an interface or emits on its own.</Notice>;
  return (
    <Card title="Configure" actions={<Badge>{component.version}</Badge>}>
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void deploy();
        }}
      >
        {component.description && <p class="small quiet">{component.description}</p>}
        <Field id="name" label="Name">
          <input id="name" class="input" value={name} maxLength={128} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <PropsForm componentId={component.id} props={component.configurable_props} values={values} change={setValues} wrongs={wrongsOf(error)} />
        <label class="check">
          <input type="checkbox" checked={isRecorded} onChange={(event) => setRecorded(event.currentTarget.checked)} />
          Record runs, so that each can be replayed
        </label>
        {component.dependencies.length > 0 && (
          <p class="tiny faint">
            With {component.dependencies.slice(0, 6).map((dependency) => `${dependency.name} ${dependency.version}`).join(", ")}
            {component.dependencies.length > 6 && ` and ${component.dependencies.length - 6} more packages`}
          </p>
        )}
        {(component.warnings ?? []).map((warning) => (
          <Notice key={warning} tone="warn" icon="alert">
            {warning}
          </Notice>
        ))}
        <TryIt component={component} values={values} />
        <div>
          <Button type="submit" tone="primary" disabled={isBusy}>
            {isBusy ? "Deploying…" : "Deploy"}
          </Button>
        </div>
      </form>
    </Card>
  );
}
