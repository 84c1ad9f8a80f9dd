// Runs a workflow by hand, and leads to the run.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Json, Workflow, WorkflowRun } from "../../api/types";
import { navigate } from "../../state/router";
import { FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";

const EXAMPLE = JSON.stringify({ body: { hello: "world" } }, null, 2);

export function RunDialog({ workflow, close }: { workflow: Workflow; close: () => void }) {
  const [text, setText] = useState(EXAMPLE);
  return (
    <FormDialog
      title="Run the workflow"
      close={close}
      action="Run"
      submit={async () => {
        let event: Json;
        try {
          event = JSON.parse(text) as Json;
        } catch {
          throw new Error("The event is not valid JSON.");
        }
        const run = await send<WorkflowRun>("POST", `/workflows/${workflow.id}/run`, { event, wait: false });
        navigate(`/workflows/${workflow.id}/runs/${run.id}`);
      }}
    >
      <p class="quiet small">
        It runs for real with this event: steps find it in <code>steps.trigger.event</code>.
      </p>
      <Editor value={text} change={setText} language="json" label="Event" height="220px" />
    </FormDialog>
  );
}
