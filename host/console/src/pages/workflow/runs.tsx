// The runs of a workflow: those under way and the last that ended.

import type { WorkflowRun, WorkflowRunState } from "../../api/types";
import { usePage } from "../../state/resource";
import { Link, search, setSearch } from "../../state/router";
import { duration, now } from "../../state/time";
import { Ago, Badge, Bones, Card, Choices, Empty, Failure, type Tone } from "../../ui/parts";

const EVERY_MS = 3000;

const STATES: Record<WorkflowRunState, [Tone, string]> = {
  queued: ["plain", "Queued"],
  executing: ["accent", "Running"],
  paused: ["warn", "Waiting"],
  success: ["good", "Success"],
  error: ["bad", "Error"],
  cancelled: ["plain", "Cancelled"],
};

export function RunStateBadge({ state }: { state: WorkflowRunState }) {
  const [tone, says] = STATES[state];
  return (
    <Badge tone={tone} dot>
      {says}
    </Badge>
  );
}

export function RunsTab({ id }: { id: string }) {
  const state = search.value.get("state") ?? "";
  const page = usePage<WorkflowRun>(`/workflows/${id}/runs?limit=100${state ? `&state=${state}` : ""}`, { every_ms: EVERY_MS });
  const list = page.data?.data;
  const options = [{ value: "", text: "All" }, ...(["executing", "paused", "success", "error"] as const).map((value) => ({ value, text: STATES[value][1] }))];
  return (
    <div class="stack">
      <Choices label="Which runs" value={state} options={options} change={(chosen) => setSearch({ state: chosen })} />
      {page.error && !list && <Failure error={page.error} retry={() => void page.reload()} />}
      <Card label="Runs">
        {!list && !page.error && <Bones />}
        {list?.length === 0 && (
          <Empty icon="run" title={state ? "No such runs" : "No runs yet"}>
            {state ? undefined : "Run it by hand, or let its trigger start it."}
          </Empty>
        )}
        <div class="lines">
          {list?.map((run) => (
            <Link key={run.id} to={`/workflows/${id}/runs/${run.id}`} class="line run-line">
              <RunStateBadge state={run.state} />
              <span class="grow cut small">
                {run.error ? <span class="error-text">{run.error.message}</span> : <span class="mono tiny faint">{run.exit_reason ?? run.id}</span>}
                {run.resumes_at_ms && (
                  <span class="faint">
                    {" "}
                    goes on <Ago at_ms={run.resumes_at_ms} />
                  </span>
                )}
              </span>
              <span class="tiny faint number">v{run.version}</span>
              <span class="number small quiet took">{duration((run.ended_at_ms ?? now.value) - run.started_at_ms)}</span>
              <span class="number small faint when">
                <Ago at_ms={run.queued_at_ms} />
              </span>
            </Link>
          ))}
        </div>
      </Card>
    </div>
  );
}
