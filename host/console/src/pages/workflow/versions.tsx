// The versions of a workflow: what changed with each, and the way back.

import { send } from "../../api/client";
import type { Workflow, WorkflowVersion } from "../../api/types";
import { useResource } from "../../state/resource";
import { Confirm } from "../../ui/dialog";
import { Differences } from "../../ui/differences";
import { Versions } from "../../ui/versions";

export function VersionsTab({ workflow, changed }: { workflow: Workflow; changed: (workflow: Workflow) => void }) {
  const versions = useResource<WorkflowVersion[]>(`/workflows/${workflow.id}/versions`);
  return (
    <Versions
      versions={versions}
      line={(version) => <span class="grow mono tiny faint cut">{version.deployment_id}</span>}
      difference={(before, after) => <Differences before={shown(before)} after={shown(after)} />}
      rollBack={(version, close) => (
        <Confirm
          title={`Roll back to version ${version.version}?`}
          says="It is deployed once more, as the next version. Runs under way finish on theirs."
          action="Roll back"
          close={close}
          act={async () => {
            changed(await send<Workflow>("POST", `/workflows/${workflow.id}/rollback`, { version: version.version }));
            void versions.reload();
          }}
        />
      )}
      onlyOne="A change of the document makes the next version; earlier ones are listed here."
    />
  );
}

/** A document as text whose lines can be compared: code with its own lines. */
function shown(version: WorkflowVersion): string {
  return JSON.stringify(version.document, null, 2).replaceAll("\\n", "\n    ");
}
