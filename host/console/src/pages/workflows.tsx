// All workflows of the account.

import type { Workflow, WorkflowTrigger } from "../api/types";
import { usePage } from "../state/resource";
import { Link, search, setSearch } from "../state/router";
import { may } from "../state/session";
import { nameOf } from "../state/sources";
import { Ago, Badge, Bones, ButtonLink, Card, Empty, Failure, PageHead, Search } from "../ui/parts";

export function Workflows() {
  const page = usePage<Workflow>("/users/me/workflows?limit=100");
  const words = search.value.get("q") ?? "";
  const list = page.data?.data;
  const shown = list?.filter((workflow) => `${workflow.name}\n${workflow.id}`.toLowerCase().includes(words.toLowerCase()));
  return (
    <div class="page">
      <PageHead
        title="Workflows"
        says="Steps that run when something happens: in order, in branches, over days"
        actions={
          may("deploy") && (
            <ButtonLink to="/workflows/new" tone="primary" icon="plus">
              New workflow
            </ButtonLink>
          )
        }
      />
      {page.error && <Failure error={page.error} retry={() => void page.reload()} />}
      {list && list.length > 0 && <Search label="Search workflows" value={words} change={(q) => setSearch({ q })} />}
      <Card label="Workflows">
        {!list && !page.error && <Bones rows={4} />}
        {list?.length === 0 && (
          <Empty icon="flow" title="No workflows yet" action={may("deploy") ? <ButtonLink to="/workflows/new">Write the first one</ButtonLink> : undefined}>
            A workflow runs steps on an event, a request or a timer. A run survives restarts and can wait for days; every step of it can be looked at.
          </Empty>
        )}
        {shown?.length === 0 && words !== "" && <Empty icon="search" title="Nothing fits" />}
        <div class="lines">
          {shown?.map((workflow) => (
            <Link key={workflow.id} to={`/workflows/${workflow.id}`} class="line source-line">
              <span class="grow">
                <span class="cut name">{workflow.name}</span>
                <span class="cut tiny faint">{workflow.triggers.map(triggerSays).join(" · ") || "Run by hand"}</span>
              </span>
              <span class="tiny faint number">version {workflow.version}</span>
              {workflow.active ? <Badge tone="good">Active</Badge> : <Badge>Paused</Badge>}
              <span class="tiny faint when">
                <Ago at_ms={workflow.updated_at * 1000} />
              </span>
            </Link>
          ))}
        </div>
      </Card>
    </div>
  );
}

/** What starts a run, in a few words. */
export function triggerSays(trigger: WorkflowTrigger): string {
  switch (trigger.type) {
    case "http":
      return "HTTP request";
    case "timer":
      return trigger.cron ? `Timer: ${trigger.cron}${trigger.timezone ? ` (${trigger.timezone})` : ""}` : `Every ${trigger.interval_seconds} s`;
    case "source":
      return `Events of ${nameOf(trigger.source_id ?? "") ?? trigger.source_id}`;
    case "component":
      return `Own source: ${trigger.component_key ?? "component"}`;
    default:
      return trigger.type;
  }
}
