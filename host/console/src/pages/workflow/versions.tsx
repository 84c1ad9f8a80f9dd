// The versions of a workflow: what changed with each, and the way back.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Workflow, WorkflowVersion } from "../../api/types";
import { useResource } from "../../state/resource";
import { may } from "../../state/session";
import { Confirm } from "../../ui/dialog";
import { Ago, Badge, Bones, Button, Card, Failure } from "../../ui/parts";
import { Differences } from "../../ui/differences";

export function VersionsTab({ workflow, changed }: { workflow: Workflow; changed: (workflow: Workflow) => void }) {
  const versions = useResource<WorkflowVersion[]>(`/workflows/${workflow.id}/versions`);
  const [open, setOpen] = useState<number | undefined>(undefined);
  const [back, setBack] = useState<number | undefined>(undefined);
  const list = versions.data;
  if (versions.error && !list) return <Failure error={versions.error} retry={() => void versions.reload()} />;
  return (
    <Card label="Versions">
      {!list && <Bones rows={3} />}
      <div class="lines">
        {list?.map((version, index) => (
          <div key={version.version}>
            <div class="line">
              <span class="strong number">{version.version}</span>
              {version.current && <Badge tone="good">Current</Badge>}
              <span class="grow mono tiny faint cut">{version.deployment_id}</span>
              <span class="tiny faint when">
                <Ago at_ms={version.created_at * 1000} />
              </span>
              {list[index + 1] && (
                <Button isLittle aria-expanded={open === version.version} onClick={() => setOpen(open === version.version ? undefined : version.version)}>
                  What changed
                </Button>
              )}
              {!version.current && may("deploy") && (
                <Button isLittle icon="back" onClick={() => setBack(version.version)}>
                  Roll back
                </Button>
              )}
            </div>
            {open === version.version && <Differences before={shown(list[index + 1])} after={shown(version)} />}
          </div>
        ))}
      </div>
      {back !== undefined && (
        <Confirm
          title={`Roll back to version ${back}?`}
          says="It is deployed once more, as the next version. Runs under way finish on theirs."
          action="Roll back"
          close={() => setBack(undefined)}
          act={async () => {
            changed(await send<Workflow>("POST", `/workflows/${workflow.id}/rollback`, { version: back }));
            void versions.reload();
          }}
        />
      )}
    </Card>
  );
}

/** A document as text whose lines can be compared: code with its own lines. */
function shown(version: WorkflowVersion | undefined): string {
  return JSON.stringify(version?.document ?? {}, null, 2).replaceAll("\\n", "\n    ");
}
