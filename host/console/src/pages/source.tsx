// One source: what it emits, how its runs go, what it says, keeps and is made of.

import { useEffect, useState } from "preact/hooks";
import { send } from "../api/client";
import type { Component, Json, Source } from "../api/types";
import { useResource } from "../state/resource";
import { Link, navigate } from "../state/router";
import { may } from "../state/session";
import { loadSources } from "../state/sources";
import { attempt } from "../state/toasts";
import { isMissing } from "../shell/routes";
import { Confirm } from "../ui/dialog";
import { Badge, Bones, Button, ButtonLink, Card, Copyable, Empty, Failure, Notice, PageHead, Tabs } from "../ui/parts";
import { CodeTab } from "./source/code";
import { DeliveriesTab } from "./source/deliveries";
import { EventsTab } from "./source/events";
import { LogsTab } from "./source/logs";
import { RunsTab } from "./source/runs";
import { SettingsTab } from "./source/settings";
import { StateTab } from "./source/state";
import { TestDialog } from "./source/test";
import { VersionsTab } from "./source/versions";

const TABS: [string, string][] = [
  ["events", "Events"],
  ["runs", "Runs"],
  ["logs", "Logs"],
  ["state", "State"],
  ["deliveries", "Deliveries"],
  ["code", "Code"],
  ["versions", "Versions"],
  ["settings", "Settings"],
];

export function SourcePage({ id, tab }: { id: string; tab: string }) {
  const source = useResource<Source>(`/sources/${id}`);
  const component = useResource<Component>(source.data && `/components/${source.data.component_id}`);
  const [asked, setAsked] = useState<"test" | "delete" | undefined>(undefined);
  const { data, error } = source;
  useEffect(() => {
    if (data) document.title = `${data.name} · Wellspring`;
  }, [data, tab]);
  if (error && !data) {
    return isMissing(error) ? (
      <Empty icon="source" title="No such source" action={<ButtonLink to="/sources">All sources</ButtonLink>}>
        It was deleted, or belongs to another account.
      </Empty>
    ) : (
      <div class="page">
        <Failure error={error} retry={() => void source.reload()} />
      </div>
    );
  }
  if (!data) {
    return (
      <div class="page">
        <PageHead title="Source" crumbs={[{ to: "/sources", text: "Sources" }]} />
        <Card>
          <Bones />
        </Card>
      </div>
    );
  }
  const endpoints = endpointsOf(data);
  const change = (active: boolean) =>
    attempt(active ? "The source runs again" : "The source is paused", async () => {
      source.set(await send<Source>("PUT", `/sources/${id}`, { active }));
      void loadSources();
    });
  return (
    <div class="page">
      <PageHead
        crumbs={[{ to: "/sources", text: "Sources" }]}
        title={data.name}
        badge={
          data.active ? (
            <Badge tone="good" dot>
              Active
            </Badge>
          ) : (
            <Badge dot>Paused</Badge>
          )
        }
        says={
          <span class="mono tiny">
            {id}
            {component.data && ` · ${component.data.name} ${component.data.version}`}
          </span>
        }
        actions={
          <>
            {may("write") && (
              <Button icon="send" tone="primary" onClick={() => setAsked("test")}>
                Test
              </Button>
            )}
            {may("deploy") && (
              <Button icon={data.active ? "pause" : "run"} onClick={() => void change(!data.active)}>
                {data.active ? "Pause" : "Resume"}
              </Button>
            )}
            {may("deploy") && <Button tone="danger" icon="trash" says="Delete the source" onClick={() => setAsked("delete")} />}
          </>
        }
      />
      {endpoints.length > 0 && (
        <div class="stack tight">
          {endpoints.map((url) => (
            <Copyable key={url} text={url} says="Copy the address of the endpoint" />
          ))}
        </div>
      )}
      {(data.problems ?? []).map((problem) => (
        <Notice key={problem} tone="bad" icon="alert">
          {problem}{" "}
          <Link class="link" to="/accounts">
            Connected accounts
          </Link>
        </Notice>
      ))}
      <Tabs current={`/sources/${id}/${tab}`} tabs={TABS.map(([name, text]) => ({ to: `/sources/${id}/${name}`, text }))} />
      <TabContent tab={tab} source={data} component={component.data} changed={(changed) => source.set(changed)} test={() => setAsked("test")} />
      {asked === "test" && <TestDialog source={data} component={component.data} close={() => setAsked(undefined)} />}
      {asked === "delete" && (
        <Confirm
          title={`Delete “${data.name}”?`}
          says="Its events, runs, logs and stored values go with it, and its endpoint stops answering. This cannot be undone."
          action="Delete the source"
          close={() => setAsked(undefined)}
          act={async () => {
            await send("DELETE", `/sources/${id}`);
            void loadSources();
            navigate("/sources");
          }}
        />
      )}
    </div>
  );
}

interface TabProps {
  tab: string;
  source: Source;
  component: Component | undefined;
  changed: (source: Source) => void;
  test: () => void;
}

function TabContent({ tab, source, component, changed, test }: TabProps) {
  switch (tab) {
    case "events":
      return <EventsTab source={source} test={test} />;
    case "runs":
      return <RunsTab source={source} />;
    case "logs":
      return <LogsTab source={source} />;
    case "state":
      return <StateTab source={source} />;
    case "deliveries":
      return <DeliveriesTab source={source} />;
    case "code":
      return <CodeTab source={source} component={component} changed={changed} />;
    case "versions":
      return <VersionsTab source={source} changed={changed} />;
    case "settings":
      return <SettingsTab source={source} component={component} changed={changed} />;
    default:
      return <Empty icon="search" title="No such view" />;
  }
}

/** The addresses that trigger the source. */
export function endpointsOf(source: Source): string[] {
  const isEndpoint = (value: Json): value is { endpoint_url: string } => typeof value === "object" && value !== null && !Array.isArray(value) && typeof value["endpoint_url"] === "string";
  return Object.values(source.configured_props).filter(isEndpoint).map((value) => value.endpoint_url);
}
