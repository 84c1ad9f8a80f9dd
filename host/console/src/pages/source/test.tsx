// Runs a source by hand with an event, and shows what it did.

import { useState } from "preact/hooks";
import { ApiError, send } from "../../api/client";
import type { Component, Json, Source, SourceRun } from "../../api/types";
import { Link } from "../../state/router";
import { duration, plural } from "../../state/time";
import { useWork } from "../../state/work";
import { Dialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { Badge, Button, Failure } from "../../ui/parts";
import { ErrorBlock } from "../../ui/thrown";
import { Tree } from "../../ui/tree";

/** An event that the component can be tried with. */
export function exampleFor(component: Component | undefined): Json {
  const isHttp = component?.configurable_props.some((prop) => prop.type === "$.interface.http");
  if (isHttp) return { method: "POST", path: "/", query: {}, headers: { "content-type": "application/json" }, body: { hello: "world" } };
  const isTimer = component?.configurable_props.some((prop) => prop.type === "$.interface.timer");
  return isTimer ? { timestamp: Math.floor(Date.now() / 1000) } : {};
}

/** What was written as an event. */
export function eventOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new ApiError(0, "invalid", "The event is not valid JSON.");
  }
}

export function TestDialog({ source, component, close }: { source: Source; component: Component | undefined; close: () => void }) {
  const [text, setText] = useState(() => JSON.stringify(exampleFor(component), null, 2));
  const [result, setResult] = useState<SourceRun | undefined>(undefined);
  const { isBusy, error, act } = useWork();
  const run = () => act(async () => setResult(await send<SourceRun>("POST", `/sources/${source.id}/run`, eventOf(text))));
  return (
    <Dialog
      title="Test the source"
      close={close}
      foot={
        <>
          <Button onClick={close}>Close</Button>
          <Button tone="primary" icon="run" disabled={isBusy} onClick={() => void run()}>
            {isBusy ? "Running…" : result ? "Run again" : "Run"}
          </Button>
        </>
      }
    >
      <p class="quiet small">The source runs for real with this event: what it emits is kept and delivered.</p>
      <Editor value={text} change={setText} language="json" label="The event" height="190px" submit={() => void run()} />
      {error && <Failure error={error} />}
      {result && <Result result={result} close={close} />}
    </Dialog>
  );
}

function Result({ result, close }: { result: SourceRun; close: () => void }) {
  return (
    <div class="stack tight" role="status">
      <div class="row wrap small">
        <Badge tone={result.ok ? "good" : "bad"} dot>
          {result.ok ? "Success" : "Error"}
        </Badge>
        <span class="quiet number">
          {duration(result.duration_ms)} · {plural(result.emitted_count, "event")}
        </span>
        <Link class="link push" to={`/runs/${result.run_id}`} onClick={close}>
          Open the run
        </Link>
      </div>
      {result.error && <ErrorBlock error={result.error} />}
      {result.emitted.slice(0, 5).map((event) => (
        <div class="block" key={event.id}>
          <Tree value={event.event} depth={2} />
        </div>
      ))}
      {result.logs.length > 0 && <pre class="block">{result.logs.map((line) => `${line.level}  ${line.message}`).join("\n")}</pre>}
    </div>
  );
}
