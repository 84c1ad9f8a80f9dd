// The whole document of a workflow, to read and to change.

import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../../api/client";
import type { Workflow } from "../../api/types";
import { may } from "../../state/session";
import { toast } from "../../state/toasts";
import { Editor } from "../../ui/editor";
import { Button, CopyButton, Failure } from "../../ui/parts";

export function documentOf({ settings, triggers, steps }: Workflow): string {
  return JSON.stringify({ settings, triggers, steps }, null, 2);
}

export function DocumentTab({ workflow, changed }: { workflow: Workflow; changed: (workflow: Workflow) => void }) {
  const given = documentOf(workflow);
  const [text, setText] = useState(given);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setText(given), [given]);
  const deploy = async () => {
    setBusy(true);
    setError(undefined);
    try {
      changed(await send<Workflow>("PUT", `/workflows/${workflow.id}`, parsed(text)));
      toast("Deployed as the next version");
    } catch (failed) {
      setError(failed instanceof ApiError ? failed : new ApiError(0, "invalid", String(failed)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="stack">
      <div class="row wrap">
        <span class="small quiet">Secret values are left out, and kept when the document is sent back.</span>
        <span class="row wrap push">
          <CopyButton text={text} says="Copy the document" />
          {text !== given && may("deploy") && (
            <>
              <Button onClick={() => setText(given)}>Discard</Button>
              <Button tone="primary" disabled={isBusy} onClick={() => void deploy()}>
                Deploy the change
              </Button>
            </>
          )}
        </span>
      </div>
      {error && <Failure error={error} />}
      <Editor value={text} change={setText} language="json" label="Document of the workflow" height="min(64vh, 720px)" isReadOnly={!may("deploy")} submit={() => void deploy()} />
    </div>
  );
}

/** A document as it is typed, or why it is none. */
export function parsed(text: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (failed) {
    throw new ApiError(0, "invalid", `The document is not valid JSON: ${failed instanceof Error ? failed.message : ""}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) throw new ApiError(0, "invalid", "The document is an object with settings, triggers and steps.");
  return document as Record<string, unknown>;
}
