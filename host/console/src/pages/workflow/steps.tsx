// The steps of a workflow, and one of them to read and change.

import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../../api/client";
import type { Json, Step, Workflow } from "../../api/types";
import { search, setSearch } from "../../state/router";
import { may } from "../../state/session";
import { toast } from "../../state/toasts";
import { Editor, type EditorProblem } from "../../ui/editor";
import { Icon } from "../../ui/icon";
import { Button, Card, Empty, Failure } from "../../ui/parts";
import { problemsOf } from "../deploy/progress";
import { triggerSays } from "../workflows";
import { allSteps, kindOf, Outline } from "./outline";

export function StepsTab({ workflow, changed }: { workflow: Workflow; changed: (workflow: Workflow) => void }) {
  const steps = workflow.steps ?? [];
  const name = search.value.get("step") ?? "";
  const chosen = allSteps(steps).find((step) => step.namespace === name);
  return (
    <div class="two">
      <Card label="Steps">
        <div class="body stack tight">
          {(workflow.triggers.length > 0 ? workflow.triggers.map(triggerSays) : ["Run by hand"]).map((says) => (
            <div class="row small quiet" key={says}>
              <Icon name="bolt" />
              {says}
            </div>
          ))}
          <Outline steps={steps} chosen={name} choose={(step) => setSearch({ step: step === name ? undefined : step })} />
        </div>
      </Card>
      {chosen ? (
        <StepEditor key={`${chosen.namespace}@${workflow.version}`} workflow={workflow} step={chosen} changed={changed} />
      ) : (
        <Empty icon="flow" title="Choose a step">
          Its code and its props can be read here, and changed: a change is deployed as the next version, and runs under way finish on theirs.
        </Empty>
      )}
    </div>
  );
}

function StepEditor({ workflow, step, changed }: { workflow: Workflow; step: Step; changed: (workflow: Workflow) => void }) {
  const given = { code: step.code ?? "", props: JSON.stringify(step.props ?? {}, null, 2) };
  const [code, setCode] = useState(given.code);
  const [props, setProps] = useState(given.props);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [problems, setProblems] = useState<EditorProblem[]>([]);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setError(undefined), [code, props]);
  const isChanged = code !== given.code || props !== given.props;
  const hasProps = step.code !== undefined || step.component_id !== undefined || step.component_key !== undefined;
  const save = async () => {
    setBusy(true);
    setProblems([]);
    try {
      const parsed = JSON.parse(props) as { [name: string]: Json };
      const next = { ...step, ...(step.code === undefined ? {} : { code }), ...(Object.keys(parsed).length > 0 || step.props ? { props: parsed } : {}) };
      changed(await send<Workflow>("PUT", `/workflows/${workflow.id}`, { steps: replaced(workflow.steps ?? [], next) as unknown as Json, triggers: workflow.triggers as unknown as Json, settings: workflow.settings ?? {} }));
      toast("Deployed as the next version");
    } catch (failed) {
      const shown = failed instanceof ApiError ? failed : new ApiError(0, "invalid", "The props are not valid JSON.");
      setError(shown);
      setProblems(problemsOf(shown));
    } finally {
      setBusy(false);
    }
  };
  const { kind, detail } = kindOf(step);
  return (
    <Card
      title={step.namespace}
      actions={
        isChanged &&
        may("deploy") && (
          <>
            <Button
              onClick={() => {
                setCode(given.code);
                setProps(given.props);
              }}
            >
              Discard
            </Button>
            <Button tone="primary" disabled={isBusy} onClick={() => void save()}>
              Deploy the change
            </Button>
          </>
        )
      }
    >
      <div class="body stack">
        <div class="small quiet">
          {kind} <span class="mono">{detail}</span>
        </div>
        {error && <Failure error={error} />}
        {step.code !== undefined && <Editor value={code} change={setCode} label="Code of the step" height="min(46vh, 460px)" isReadOnly={!may("deploy")} problems={problems} submit={() => isChanged && void save()} />}
        {hasProps && (
          <div class="stack tight">
            <h2 class="small">Props</h2>
            <Editor value={props} change={setProps} language="json" label="Props of the step" height="160px" isReadOnly={!may("deploy")} submit={() => isChanged && void save()} />
          </div>
        )}
        {!hasProps && (
          <>
            <pre class="block">{JSON.stringify(step, null, 2)}</pre>
            <p class="small quiet">What decides about a block is changed in the document.</p>
          </>
        )}
      </div>
    </Card>
  );
}

/** The same steps with one of them changed, wherever it is. */
function replaced(steps: Step[], next: Step): Step[] {
  return steps.map((step) => {
    if (step.namespace === next.namespace) return next;
    const within = <T extends { steps: Step[] }>(branch: T): T => ({ ...branch, steps: replaced(branch.steps, next) });
    return {
      ...step,
      ...(step.if && { if: step.if.map(within) }),
      ...(step.cases && { cases: step.cases.map(within) }),
      ...(step.parallel && { parallel: Object.fromEntries(Object.entries(step.parallel).map(([name, branch]) => [name, within(branch)])) }),
      ...(step.steps && { steps: replaced(step.steps, next) }),
    };
  });
}
