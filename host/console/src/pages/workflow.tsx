// One workflow: its steps, drawn; its runs; its document and versions.

import { useEffect, useState } from "preact/hooks";
import { send } from "../api/client";
import type { Workflow } from "../api/types";
import { isMissing } from "../shell/routes";
import { invalidate, useResource } from "../state/resource";
import { navigate } from "../state/router";
import { may } from "../state/session";
import { attempt } from "../state/toasts";
import { Confirm } from "../ui/dialog";
import { Badge, Bones, Button, ButtonLink, Card, Copyable, Empty, Failure, PageHead, Tabs } from "../ui/parts";
import { DocumentTab } from "./workflow/document";
import { EventsTab } from "./workflow/events";
import { RunDialog } from "./workflow/run-dialog";
import { RunsTab } from "./workflow/runs";
import { StepsTab } from "./workflow/steps";
import { VersionsTab } from "./workflow/versions";

const TABS: [string, string][] = [
  ["steps", "Steps"],
  ["runs", "Runs"],
  ["events", "Events"],
  ["errors", "Errors"],
  ["document", "Document"],
  ["versions", "Versions"],
];

export function WorkflowPage({ id, tab }: { id: string; tab: string }) {
  const workflow = useResource<Workflow>(`/workflows/${id}`);
  const [asked, setAsked] = useState<"run" | "delete" | undefined>(undefined);
  const { data, error } = workflow;
  useEffect(() => {
    if (data) document.title = `${data.name} · Wellspring`;
  }, [data, tab]);
  if (error && !data) {
    return isMissing(error) ? (
      <Empty icon="flow" title="No such workflow" action={<ButtonLink to="/workflows">All workflows</ButtonLink>}>
        It was deleted, or belongs to another account.
      </Empty>
    ) : (
      <div class="page">
        <Failure error={error} retry={() => void workflow.reload()} />
      </div>
    );
  }
  if (!data) {
    return (
      <div class="page">
        <PageHead title="Workflow" crumbs={[{ to: "/workflows", text: "Workflows" }]} />
        <Card>
          <Bones />
        </Card>
      </div>
    );
  }
  const changed = (after: Workflow) => {
    workflow.set(after);
    invalidate("/users/me/workflows", `/workflows/${id}/versions`);
  };
  const activate = (active: boolean) =>
    attempt(active ? "The workflow runs again" : "The workflow is paused", async () => changed(await send<Workflow>("PUT", `/workflows/${id}`, { active })));
  return (
    <div class="page">
      <PageHead
        crumbs={[{ to: "/workflows", text: "Workflows" }]}
        title={data.name}
        badge={
          <>
            <Badge tone={data.active ? "good" : "plain"} dot>
              {data.active ? "Active" : "Paused"}
            </Badge>
            <Badge>version {data.version}</Badge>
          </>
        }
        says={<span class="mono tiny">{id}</span>}
        actions={
          <>
            {may("write") && (
              <Button icon="run" tone="primary" onClick={() => setAsked("run")}>
                Run
              </Button>
            )}
            {may("deploy") && (
              <Button icon={data.active ? "pause" : "run"} onClick={() => void activate(!data.active)}>
                {data.active ? "Pause" : "Resume"}
              </Button>
            )}
            {may("deploy") && <Button tone="danger" icon="trash" says="Delete the workflow" onClick={() => setAsked("delete")} />}
          </>
        }
      />
      {data.triggers.flatMap(({ endpoint_url }) => (endpoint_url ? [<Copyable key={endpoint_url} text={endpoint_url} says="Copy the address of the endpoint" />] : []))}
      <Tabs current={`/workflows/${id}/${tab}`} tabs={TABS.map(([name, text]) => ({ to: `/workflows/${id}/${name}`, text }))} />
      <TabContent tab={tab} workflow={data} changed={changed} />
      {asked === "run" && <RunDialog workflow={data} close={() => setAsked(undefined)} />}
      {asked === "delete" && (
        <Confirm
          title={`Delete “${data.name}”?`}
          says="Its runs, also those that wait, its triggers and the sources that were deployed for it go with it. This cannot be undone."
          action="Delete the workflow"
          close={() => setAsked(undefined)}
          act={async () => {
            await send("DELETE", `/workflows/${id}`);
            invalidate("/users/me/workflows");
            navigate("/workflows");
          }}
        />
      )}
    </div>
  );
}

function TabContent({ tab, workflow, changed }: { tab: string; workflow: Workflow; changed: (workflow: Workflow) => void }) {
  switch (tab) {
    case "steps":
      return <StepsTab workflow={workflow} changed={changed} />;
    case "runs":
      return <RunsTab id={workflow.id} />;
    case "events":
      return <EventsTab key="events" path={`/workflows/${workflow.id}/event_summaries`} nothing="Steps emit with $.send.emit." />;
    case "errors":
      return <EventsTab key="errors" path={`/workflows/${workflow.id}/$errors/event_summaries`} nothing="When a run fails, the error is here, with the event it failed on." />;
    case "document":
      return <DocumentTab workflow={workflow} changed={changed} />;
    case "versions":
      return <VersionsTab workflow={workflow} changed={changed} />;
    default:
      return <Empty icon="search" title="No such view" />;
  }
}
