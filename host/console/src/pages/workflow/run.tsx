// One run of a workflow, step by step.

import { useMemo, useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Json, StepResult, Workflow, WorkflowRun, WorkflowVersion } from "../../api/types";
import { isMissing } from "../../shell/routes";
import { useResource } from "../../state/resource";
import { navigate, search, setSearch } from "../../state/router";
import { may } from "../../state/session";
import { duration, short } from "../../state/time";
import { attempt } from "../../state/toasts";
import { Confirm, FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { LogLines } from "../../ui/log";
import { Ago, At, Bones, Button, ButtonLink, Card, CopyButton, Empty, Failure, Notice, PageHead } from "../../ui/parts";
import { Tree } from "../../ui/tree";
import { allSteps, Outline } from "./outline";
import { RunStateBadge } from "./runs";

const EVERY_MS = 2000;

export function WorkflowRunPage({ id, run: runId }: { id: string; run: string }) {
  const workflow = useResource<Workflow>(`/workflows/${id}`);
  const versions = useResource<WorkflowVersion[]>(`/workflows/${id}/versions`);
  const [isOver, setOver] = useState(false);
  const found = useResource<WorkflowRun>(`/workflows/${id}/runs/${runId}`, { every_ms: isOver ? 0 : EVERY_MS });
  const [asked, setAsked] = useState<"resume" | "cancel" | undefined>(undefined);
  const { data: run, error } = found;
  const results = useMemo(() => byName(run?.steps ?? []), [run]);
  const crumbs = [{ to: "/workflows", text: "Workflows" }, { to: `/workflows/${id}/runs`, text: workflow.data?.name ?? id }];
  if (error && !run) {
    return isMissing(error) ? (
      <Empty icon="run" title="No record of this run" action={<ButtonLink to={`/workflows/${id}/runs`}>All runs</ButtonLink>}>
        Records are kept for a while only, and the run may be older.
      </Empty>
    ) : (
      <Failure error={error} retry={() => void found.reload()} />
    );
  }
  if (!run) {
    return (
      <div class="page">
        <PageHead title="Run" crumbs={crumbs} />
        <Card>
          <Bones />
        </Card>
      </div>
    );
  }
  if (run.ended_at_ms !== null && !isOver) setOver(true);
  const document = versions.data?.find((version) => version.version === run.version)?.document;
  const steps = ((document?.["steps"] as unknown as Workflow["steps"]) ?? workflow.data?.steps) ?? [];
  const chosen = search.value.get("step") ?? run.steps?.find((step) => step.state === "error")?.namespace ?? "";
  const replay = () =>
    attempt("It runs once more", async () => {
      const made = await send<WorkflowRun>("POST", `/workflows/${id}/runs/${runId}/replay`, {});
      navigate(`/workflows/${id}/runs/${made.id}`);
    });
  return (
    <div class="page">
      <PageHead
        crumbs={crumbs}
        title="Run"
        badge={<RunStateBadge state={run.state} />}
        says={
          <span class="row wrap">
            <At at_ms={run.started_at_ms || run.queued_at_ms} precise />
            <span>version {run.version}</span>
            <span class="mono tiny">{run.id}</span>
            <CopyButton text={run.id} says="Copy the id" />
          </span>
        }
        actions={
          may("write") && (
            <>
              {run.state === "paused" && (
                <Button tone="primary" icon="run" onClick={() => setAsked("resume")}>
                  Resume
                </Button>
              )}
              {run.ended_at_ms === null && <Button onClick={() => setAsked("cancel")}>Cancel the run</Button>}
              {run.ended_at_ms !== null && (
                <Button icon="replay" tone="primary" onClick={() => void replay()}>
                  Run again
                </Button>
              )}
            </>
          )
        }
      />
      {run.error && (
        <Notice tone="bad" icon="alert">
          <span class="strong">{run.error.code}</span>: {run.error.message}
        </Notice>
      )}
      {run.exit_reason && <Notice>The run ended early: {run.exit_reason}</Notice>}
      {run.state === "paused" && (
        <Notice tone="warn" icon="clock">
          The run waits{run.resumes_at_ms ? " and goes on by itself " : " until it is resumed."}
          {run.resumes_at_ms && <Ago at_ms={run.resumes_at_ms} />}
        </Notice>
      )}
      <Waterfall run={run} />
      <div class="two">
        <Card title="Steps">
          <div class="body">
            <Outline steps={steps} results={results} chosen={chosen} choose={(step) => setSearch({ step: step === chosen ? undefined : step })} />
          </div>
        </Card>
        <div class="stack">
          {chosen !== "" && allSteps(steps).some((step) => step.namespace === chosen) ? (
            <Results name={chosen} results={results.get(chosen) ?? []} exported={run.exports?.[chosen]} />
          ) : (
            <Card title="Event" actions={run.event !== undefined && <CopyButton text={() => JSON.stringify(run.event, null, 2)} says="Copy the event" />}>
              <div class="body">{run.event === undefined ? <p class="small quiet">The event is not kept.</p> : <Tree value={run.event} depth={2} />}</div>
            </Card>
          )}
        </div>
      </div>
      {asked === "resume" && <Resume id={id} run={runId} close={() => setAsked(undefined)} done={() => void found.reload()} />}
      {asked === "cancel" && (
        <Confirm
          title="Cancel the run?"
          says="What its steps did stays done; no further step runs."
          action="Cancel the run"
          close={() => setAsked(undefined)}
          act={async () => found.set(await send<WorkflowRun>("POST", `/workflows/${id}/runs/${runId}/cancel`))}
        />
      )}
    </div>
  );
}

function byName(steps: StepResult[]): Map<string, StepResult[]> {
  const found = new Map<string, StepResult[]>();
  for (const step of steps) found.set(step.namespace, [...(found.get(step.namespace) ?? []), step]);
  return found;
}

/** When each step ran, on one axis. */
function Waterfall({ run }: { run: WorkflowRun }) {
  const steps = run.steps ?? [];
  if (steps.length === 0) return null;
  const begin = Math.min(run.queued_at_ms, ...steps.map((step) => step.started_at_ms));
  const end = Math.max(run.ended_at_ms ?? 0, ...steps.map((step) => step.ended_at_ms), begin + 1);
  const share = (ms: number) => `${(ms / (end - begin)) * 100}%`;
  return (
    <Card title="Time" actions={<span class="tiny faint number">{duration(end - begin)}</span>}>
      <ol class="waterfall" aria-label="When each step ran">
        {steps.slice(0, 60).map((step, index) => (
          <li key={index}>
            <span class="cut small">
              {step.namespace}
              {step.iteration && <span class="faint"> [{step.iteration.join(", ")}]</span>}
              {step.attempt > 1 && <span class="faint"> attempt {step.attempt}</span>}
            </span>
            <span class="track" aria-hidden="true">
              <span class={step.state === "error" ? "fail" : step.state === "paused" ? "wait" : "work"} style={{ marginLeft: share(step.started_at_ms - begin), width: `max(3px, ${share(step.ended_at_ms - step.started_at_ms)})` }} />
            </span>
            <span class="number tiny quiet">{duration(step.ended_at_ms - step.started_at_ms)}</span>
          </li>
        ))}
      </ol>
      {steps.length > 60 && <div class="body tiny faint">and {steps.length - 60} more</div>}
    </Card>
  );
}

function Results({ name, results, exported }: { name: string; results: StepResult[]; exported: Json | undefined }) {
  const [at, setAt] = useState(0);
  const result = results[Math.min(at, results.length - 1)];
  if (!result) {
    return (
      <Card title={name}>
        <div class="body small quiet">{exported === undefined ? "This step did not run." : <Tree value={exported} depth={2} />}</div>
      </Card>
    );
  }
  return (
    <Card
      title={name}
      actions={
        <>
          {results.length > 1 && (
            <select class="input" aria-label="Which time" value={at} onChange={(event) => setAt(Number(event.currentTarget.value))}>
              {results.map((one, index) => (
                <option key={index} value={index}>
                  {one.iteration ? `item ${one.iteration.join(", ")}` : `attempt ${one.attempt}`}: {one.state}
                </option>
              ))}
            </select>
          )}
          <RunStateBadge state={result.state} />
        </>
      }
    >
      <div class="body stack">
        <dl class="facts">
          <Fact name="Took" value={duration(result.ended_at_ms - result.started_at_ms)} />
          <Fact name="Attempt" value={String(result.attempt)} />
          <Fact name="Fuel" value={short(result.fuel)} />
        </dl>
        {result.error && (
          <div class="stack tight">
            <Notice tone="bad" icon="alert">
              <span class="strong">{result.error.code}</span>: {result.error.message}
            </Notice>
            {result.error.stack && <pre class="block">{result.error.stack}</pre>}
          </div>
        )}
        {result.inputs !== undefined && <Values title="Inputs" value={result.inputs} />}
        {result.is_truncated ? <p class="small quiet">The exports are too large to be shown.</p> : <Values title="Exports" value={result.exports} />}
        {result.logs.length > 0 && <LogLines lines={result.logs} label="Log of the step" />}
      </div>
    </Card>
  );
}

function Values({ title, value }: { title: string; value: Json }) {
  return (
    <div class="stack tight">
      <div class="row">
        <h2 class="small">{title}</h2>
        <span class="push" />
        <CopyButton text={() => JSON.stringify(value, null, 2)} says={`Copy: ${title.toLowerCase()}`} />
      </div>
      <Tree value={value} depth={2} />
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Resume({ id, run, close, done }: { id: string; run: string; close: () => void; done: () => void }) {
  const [text, setText] = useState("{}");
  return (
    <FormDialog
      title="Resume the run"
      close={close}
      action="Resume"
      submit={async () => {
        await send("POST", `/workflows/${id}/runs/${run}/resume`, JSON.parse(text) as Record<string, unknown>);
        done();
      }}
    >
      <p class="quiet small">
        The step finds this in <code>$resume_data</code>.
      </p>
      <Editor value={text} change={setText} language="json" label="Data for the step" height="140px" />
    </FormDialog>
  );
}
