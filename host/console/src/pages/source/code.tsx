// The code of a source: read it, change it, try the change on recorded runs, deploy it.

import { useEffect, useState } from "preact/hooks";
import { send, sendFollowed } from "../../api/client";
import type { Component, Shadow, Source } from "../../api/types";
import { invalidate } from "../../state/resource";
import { Link } from "../../state/router";
import { may } from "../../state/session";
import { toast } from "../../state/toasts";
import { useWork } from "../../state/work";
import { Editor, type EditorProblem } from "../../ui/editor";
import { Badge, Bones, Button, Card, Failure, Notice } from "../../ui/parts";
import { problemsOf, ProgressLine } from "../deploy/progress";

export function CodeTab({ source, component, changed }: { source: Source; component: Component | undefined; changed: (source: Source) => void }) {
  const [edited, setCode] = useState<string | undefined>(undefined);
  const [problems, setProblems] = useState<EditorProblem[]>([]);
  const [shadow, setShadow] = useState<Shadow | undefined>(undefined);
  const { isBusy, error, progress, told, act: attempt } = useWork();
  useEffect(() => setCode(undefined), [component?.id]);
  if (!component) {
    return (
      <Card>
        <Bones rows={10} />
      </Card>
    );
  }
  const code = edited ?? component.code;
  const isChanged = code !== component.code;
  const filename = isModule(code) ? "component.mjs" : "component.js";
  const act = (work: () => Promise<void>) => {
    setProblems([]);
    return attempt(work, (refused) => setProblems(problemsOf(refused)));
  };
  const deploy = () =>
    act(async () => {
      const updated = await sendFollowed<Source>("PUT", `/sources/${source.id}`, { component_code: code, filename, active: source.active }, told);
      toast("Deployed");
      setShadow(undefined);
      changed(updated);
      invalidate(`/sources/${source.id}`);
    });
  const tryIt = () =>
    act(async () => {
      setShadow(await send<Shadow>("POST", `/sources/${source.id}/shadow`, { component_code: code, filename, runs: 20 }));
    });
  return (
    <div class="stack">
      <div class="row wrap small quiet">
        <span class="strong">{component.name}</span>
        <span class="number">{component.version}</span>
        <span class="mono tiny faint" title={component.code_hash}>
          {component.code_hash.slice(0, 12)}
        </span>
        {component.dependencies.map((dependency) => (
          <Badge key={dependency.name}>
            {dependency.name} {dependency.version}
          </Badge>
        ))}
        <span class="row wrap push">
          {isChanged && may("deploy") && (
            <>
              <Button onClick={() => setCode(component.code)}>Discard</Button>
              <Button icon="replay" disabled={isBusy} onClick={() => void tryIt()}>
                Try on recorded runs
              </Button>
              <Button tone="primary" disabled={isBusy} onClick={() => void deploy()}>
                Deploy the change
              </Button>
            </>
          )}
        </span>
      </div>
      {progress && <ProgressLine progress={progress} />}
      {error && <Failure error={error} />}
      {shadow && <ShadowResult shadow={shadow} />}
      <Editor value={code} change={setCode} label="Code of the component" height="min(64vh, 720px)" isReadOnly={!may("deploy")} problems={problems} submit={() => isChanged && void deploy()} />
      {(component.notes ?? []).map((note) => (
        <Notice key={note.path} tone="warn" icon="alert">
          <code>{note.path}</code>: {note.message}
        </Notice>
      ))}
    </div>
  );
}

export function isModule(code: string): boolean {
  return /^\s*(import|export)\s/m.test(code);
}

function ShadowResult({ shadow }: { shadow: Shadow }) {
  if (shadow.runs === 0) return <Notice>No run of this source is recorded yet, so there is nothing to try the change on. Turn recording on in its settings.</Notice>;
  const isSame = shadow.unchanged === shadow.runs;
  return (
    <Card title="The change, on recorded runs" actions={<Badge tone={isSame ? "good" : shadow.new_errors > 0 ? "bad" : "warn"}>{isSame ? "Nothing changes" : `${shadow.runs - shadow.unchanged} of ${shadow.runs} differ`}</Badge>}>
      <div class="body stack">
        <dl class="facts">
          <Fact name="Runs tried" value={shadow.runs} />
          <Fact name="Unchanged" value={shadow.unchanged} />
          <Fact name="Changed" value={shadow.changed} />
          <Fact name="Diverged" value={shadow.diverged} />
          <Fact name="New errors" value={shadow.new_errors} />
          {shadow.fuel_change_percent !== undefined && <Fact name="Fuel" value={`${shadow.fuel_change_percent > 0 ? "+" : ""}${shadow.fuel_change_percent.toFixed(1)} %`} />}
        </dl>
        <ul class="plain-list">
          {shadow.details.slice(0, 10).map((one) => (
            <li key={one.run_id} class="row">
              <Badge tone="warn">{one.verdict}</Badge>
              <Link class="link mono tiny" to={`/runs/${one.run_id}`}>
                {one.run_id}
              </Link>
              <span class="faint cut">{one.differences.map((difference) => difference.what).join(", ")}</span>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

function Fact({ name, value }: { name: string; value: string | number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
