// Which page an address shows.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError } from "../api/client";
import { match, path } from "../state/router";
import { Accounts } from "../pages/accounts";
import { AdminApps } from "../pages/admin-apps";
import { AdminRegistry } from "../pages/admin-registry";
import { AdminServer } from "../pages/admin-server";
import { AdminUsers } from "../pages/admin-users";
import { Audit } from "../pages/audit";
import { Connections } from "../pages/connections";
import { DeadLetters } from "../pages/dead-letters";
import { Deploy } from "../pages/deploy";
import { Keys } from "../pages/keys";
import { Overview } from "../pages/overview";
import { RunPage } from "../pages/run";
import { Runs } from "../pages/runs";
import { SourcePage } from "../pages/source";
import { Sources } from "../pages/sources";
import { WebhookPage } from "../pages/webhook";
import { Webhooks } from "../pages/webhooks";
import { WorkflowPage } from "../pages/workflow";
import { NewWorkflow } from "../pages/workflow/new";
import { WorkflowRunPage } from "../pages/workflow/run";
import { Workflows } from "../pages/workflows";
import { ButtonLink, Empty } from "../ui/parts";

type Parameters = Record<string, string>;

const ROUTES: [string, string, (found: Parameters) => JSX.Element][] = [
  ["/", "Overview", () => <Overview />],
  ["/sources", "Sources", () => <Sources />],
  ["/sources/new", "Deploy", () => <Deploy />],
  ["/sources/:id", "Source", ({ id = "" }) => <SourcePage key={id} id={id} tab="events" />],
  ["/sources/:id/:tab", "Source", ({ id = "", tab = "" }) => <SourcePage key={id} id={id} tab={tab} />],
  ["/workflows", "Workflows", () => <Workflows />],
  ["/workflows/new", "New workflow", () => <NewWorkflow />],
  ["/workflows/:id", "Workflow", ({ id = "" }) => <WorkflowPage key={id} id={id} tab="steps" />],
  ["/workflows/:id/:tab", "Workflow", ({ id = "", tab = "" }) => <WorkflowPage key={id} id={id} tab={tab} />],
  ["/workflows/:id/runs/:run", "Run", ({ id = "", run = "" }) => <WorkflowRunPage key={run} id={id} run={run} />],
  ["/runs", "Runs", () => <Runs />],
  ["/runs/:id", "Run", ({ id = "" }) => <RunPage key={id} id={id} />],
  ["/webhooks", "Webhooks", () => <Webhooks />],
  ["/webhooks/:id", "Webhook", ({ id = "" }) => <WebhookPage key={id} id={id} />],
  ["/connections", "Connections", () => <Connections />],
  ["/dead-letters", "Dead letters", () => <DeadLetters />],
  ["/accounts", "Connected accounts", () => <Accounts />],
  ["/keys", "API keys", () => <Keys />],
  ["/audit", "Audit log", () => <Audit />],
  ["/admin/users", "Users", () => <AdminUsers />],
  ["/admin/apps", "Apps", () => <AdminApps />],
  ["/admin/registry", "Registry", () => <AdminRegistry />],
  ["/admin/server", "Server", () => <AdminServer />],
];

export function Routes() {
  for (const [pattern, title, page] of ROUTES) {
    const found = match(pattern, path.value);
    if (found) return <Titled title={title}>{page(found)}</Titled>;
  }
  return (
    <Empty icon="search" title="No such page" action={<ButtonLink to="/">Go to the overview</ButtonLink>}>
      The address leads nowhere. It may be from another version of the console.
    </Empty>
  );
}

function Titled({ title, children }: { title: string; children: JSX.Element }) {
  useEffect(() => {
    document.title = `${title} · Wellspring`;
  }, [title]);
  return children;
}

/** A page of something that is not there, or not this account's. */
export function isMissing(error: ApiError | undefined): boolean {
  return error?.status === 404;
}
