// Runs a component once with an event, before it is deployed, and shows what it did.

import { useState } from "preact/hooks";
import { send } from "../../api/client";
import type { Component, Json, Trial } from "../../api/types";
import { duration, plural } from "../../state/time";
import { useWork } from "../../state/work";
import { Editor } from "../../ui/editor";
import { Badge, Button, Failure, Notice } from "../../ui/parts";
import { ErrorBlock } from "../../ui/thrown";
import { Tree } from "../../ui/tree";
import { eventOf, exampleFor } from "../source/test";

export function TryIt({ component, values }: { component: Component; values: Record<string, Json> }) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState(() => JSON.stringify(exampleFor(component), null, 2));
  const [trial, setTrial] = useState<Trial | undefined>(undefined);
  const { isBusy, error, act } = useWork();
  const run = () =>
    act(async () => setTrial(await send<Trial>("POST", `/components/${component.id}/try`, { configured_props: values as Json, event: eventOf(text) })));
  if (!isOpen) {
    return (
      <Button icon="run" onClick={() => setOpen(true)}>
        Try it first
      </Button>
    );
  }
  return (
    <div class="stack tight">
      <p class="small quiet">It runs once with this event and the props above. Its requests are real; nothing that it emits or stores is kept, and no hook runs.</p>
      <Editor value={text} change={setText} language="json" label="The event to try" height="150px" submit={() => void run()} />
      <div>
        <Button icon="run" disabled={isBusy} onClick={() => void run()}>
          {isBusy ? "Running…" : trial ? "Try again" : "Try"}
        </Button>
      </div>
      {error && <Failure error={error} />}
      {trial && <Result trial={trial} />}
    </div>
  );
}

function Result({ trial }: { trial: Trial }) {
  return (
    <div class="stack tight" role="status">
      <div class="row wrap small">
        <Badge tone={trial.ok ? "good" : "bad"} dot>
          {trial.ok ? "Success" : "Error"}
        </Badge>
        <span class="quiet number">
          {duration(trial.duration_ms)} · {plural(trial.emitted_count, "event")} · {plural(trial.stored.length, "write")} · {plural(trial.requests.length, "request")}
        </span>
      </div>
      {trial.error && <ErrorBlock error={trial.error} />}
      {trial.emitted_count === 0 && trial.ok && <p class="small quiet">It ended well and emitted nothing with this event.</p>}
      {trial.emitted.slice(0, 5).map((one, index) => (
        <div class="block" key={index}>
          {one.metadata.summary !== undefined && <div class="small strong">{one.metadata.summary}</div>}
          <Tree value={one.event} depth={2} />
        </div>
      ))}
      {trial.rejected.map((reason, index) => (
        <Notice key={index} tone="warn" icon="alert">
          {reason}
        </Notice>
      ))}
      {trial.stored.length > 0 && (
        <div class="block">
          <div class="small quiet">It would store</div>
          <Tree value={Object.fromEntries(trial.stored.map((one) => [one.key, one.value]))} depth={1} />
        </div>
      )}
      {trial.requests.length > 0 && <pre class="block">{trial.requests.map((one) => `${one.method} ${one.host}${one.path} → ${one.status ?? one.error ?? "?"}`).join("\n")}</pre>}
      {trial.logs.length > 0 && <pre class="block">{trial.logs.map((line) => `${line.level}  ${line.message}`).join("\n")}</pre>}
    </div>
  );
}
