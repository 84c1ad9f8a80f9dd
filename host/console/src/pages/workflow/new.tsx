// A new workflow: from a template to its first deploy.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Workflow } from "../../api/types";
import { invalidate } from "../../state/resource";
import { navigate } from "../../state/router";
import { useWork } from "../../state/work";
import { Editor } from "../../ui/editor";
import { Button, Choices, Failure, PageHead } from "../../ui/parts";
import { parsed } from "./document";

const STEP = (body: string) => `export default defineComponent({\n  async run({ steps, $ }) {\n    ${body}\n  },\n});\n`;

const TEMPLATES: Record<string, { text: string; document: Record<string, unknown> }> = {
  request: {
    text: "On a request",
    document: {
      settings: { name: "Orders" },
      triggers: [{ type: "http" }],
      steps: [
        { namespace: "shape", code: STEP("const order = steps.trigger.event.body ?? {};\n    return { total: Number(order.total ?? 0) };") },
        {
          namespace: "route",
          if: [
            { when: "{{ steps.shape.$return_value.total > 100 }}", steps: [{ namespace: "large", code: STEP("$.send.emit({ raw_event: { large: steps.shape.$return_value.total } });") }] },
            { else: true, steps: [{ namespace: "small", end: "a small order" }] },
          ],
        },
      ],
    },
  },
  timer: {
    text: "On a timer",
    document: {
      settings: { name: "Hourly" },
      triggers: [{ type: "timer", interval_seconds: 3600 }],
      steps: [{ namespace: "report", code: STEP("$.export(\"$summary\", \"all is well\");\n    return { at: new Date().toISOString() };") }],
    },
  },
  approval: {
    text: "With an approval",
    document: {
      settings: { name: "Approval" },
      steps: [
        { namespace: "ask", code: STEP("const { resume_url } = $.flow.suspend();\n    return { resume_url };") },
        { namespace: "answer", code: STEP("return { approved: steps.ask.$resume_data?.approved === true };") },
      ],
    },
  },
};

export function NewWorkflow() {
  const [template, setTemplate] = useState("request");
  const textOf = (name: string) => JSON.stringify(TEMPLATES[name]?.document, null, 2);
  const [text, setText] = useState(textOf("request"));
  const { isBusy, error, act } = useWork();
  const deploy = () =>
    act(async () => {
      const made = await send<Workflow>("POST", "/workflows", parsed(text));
      invalidate("/users/me/workflows");
      navigate(`/workflows/${made.id}`);
    });
  return (
    <div class="page">
      <PageHead
        crumbs={[{ to: "/workflows", text: "Workflows" }]}
        title="New workflow"
        says="One document: what starts it, and its steps. Each step can be edited by itself afterwards."
        actions={
          <Button tone="primary" disabled={isBusy} onClick={() => void deploy()}>
            {isBusy ? "Deploying…" : "Deploy"}
          </Button>
        }
      />
      <Choices
        label="Begin with"
        value={template}
        options={Object.entries(TEMPLATES).map(([value, { text: says }]) => ({ value, text: says }))}
        change={(name) => {
          setTemplate(name);
          setText(textOf(name));
        }}
      />
      {error && <Failure error={error} />}
      <Editor value={text} change={setText} language="json" label="Document of the workflow" height="min(64vh, 720px)" submit={() => void deploy()} />
    </div>
  );
}
