// The steps of a workflow as a drawing: lists within lists, so that it reads the same without looking at it.

import type { ComponentChildren } from "preact";
import type { Branch, Json, Step, StepResult, WorkflowRunState } from "../../api/types";
import { duration, plural } from "../../state/time";
import { Icon, type IconName } from "../../ui/icon";

interface Props {
  steps: Step[];
  chosen?: string;
  choose?: (namespace: string) => void;
  /** How the steps of one run went, by their names. */
  results?: Map<string, StepResult[]>;
}

const KINDS: [keyof Step, IconName, string][] = [
  ["if", "graph", "if"],
  ["switch", "graph", "switch"],
  ["parallel", "menu", "parallel"],
  ["for_each", "retry", "for each"],
  ["filter", "check", "filter"],
  ["end", "out", "end"],
  ["component_key", "app", "action"],
  ["component_id", "app", "action"],
  ["code", "code", "code"],
  ["file", "code", "code"],
];

/** What kind of step it is, with what tells it apart. */
export function kindOf(step: Step): { icon: IconName; kind: string; detail: string } {
  const [field, icon, kind] = KINDS.find(([field]) => step[field] !== undefined) ?? ["code", "code", "step"];
  const value = step[field];
  const detail = ["component_key", "component_id", "for_each", "filter", "switch", "file"].includes(field) && typeof value === "string" ? value : "";
  return { icon, kind, detail };
}

/** The blocks of a step: its branches with what decides about them. */
export function blocksOf(step: Step): { says: string; steps: Step[] }[] {
  if (step.if) return step.if.map((branch) => ({ says: branch.else ? "otherwise" : text(branch.when), steps: branch.steps }));
  if (step.cases) return step.cases.map((branch: Branch) => ({ says: branch.default ? "otherwise" : text(branch.value), steps: branch.steps }));
  if (step.parallel) return Object.entries(step.parallel).map(([name, branch]) => ({ says: branch.when === undefined ? name : `${name}: ${text(branch.when)}`, steps: branch.steps }));
  if (step.for_each !== undefined) return [{ says: `${step.as ?? "item"}${step.concurrency && step.concurrency > 1 ? `, ${step.concurrency} at once` : ""}`, steps: step.steps ?? [] }];
  return [];
}

export function text(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Every step of a document, those of blocks included. */
export function allSteps(steps: Step[]): Step[] {
  return steps.flatMap((step) => [step, ...blocksOf(step).flatMap((block) => allSteps(block.steps))]);
}

export function Outline(props: Props) {
  return (
    <ol class="outline">
      {props.steps.map((step) => (
        <li key={step.namespace}>
          <Box step={step} {...props} />
          <Blocks step={step} {...props} />
        </li>
      ))}
    </ol>
  );
}

function Blocks({ step, ...rest }: Props & { step: Step }) {
  const blocks = blocksOf(step);
  if (blocks.length === 0) return null;
  return (
    <ul class="blocks">
      {blocks.map((block, index) => (
        <li key={index}>
          <span class="condition mono tiny" title={block.says}>
            {block.says}
          </span>
          {block.steps.length > 0 ? <Outline {...rest} steps={block.steps} /> : <span class="tiny faint">nothing</span>}
        </li>
      ))}
    </ul>
  );
}

const TONES: Record<WorkflowRunState, string> = { queued: "", executing: "live", paused: "warn", success: "good", error: "bad", cancelled: "" };

/** The worst of what happened to a step, in all of its iterations. */
function stateOf(results: StepResult[]): WorkflowRunState {
  const order: WorkflowRunState[] = ["error", "executing", "paused", "cancelled", "queued", "success"];
  return order.find((state) => results.some((result) => result.state === state)) ?? "success";
}

function Box({ step, chosen, choose, results }: Props & { step: Step }) {
  const { icon, kind, detail } = kindOf(step);
  const mine = results?.get(step.namespace) ?? [];
  const isReached = results === undefined || mine.length > 0;
  const took = mine.reduce((sum, result) => sum + result.ended_at_ms - result.started_at_ms, 0);
  return (
    <button type="button" class={`step-box ${isReached ? "" : "skipped"}`} aria-pressed={chosen === step.namespace} onClick={() => choose?.(step.namespace)}>
      <Icon name={icon} />
      <span class="cut strong">{step.namespace}</span>
      <span class="cut tiny faint">{detail || kind}</span>
      {mine.length > 0 && (
        <Result tone={TONES[stateOf(mine)]}>
          <span class="unseen">{stateOf(mine)}</span>
          {mine.length > 1 ? plural(mine.length, "time") : duration(took)}
        </Result>
      )}
      {results !== undefined && mine.length === 0 && blocksOf(step).length === 0 && <span class="push tiny faint">not run</span>}
    </button>
  );
}

function Result({ tone, children }: { tone: string; children: ComponentChildren }) {
  return (
    <span class="row push tiny number quiet">
      <span class={`dot ${tone}`} />
      {children}
    </span>
  );
}
