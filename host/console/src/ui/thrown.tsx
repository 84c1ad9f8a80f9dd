// An error that a component threw, with its causes.

import type { Thrown } from "../api/types";
import { CopyButton } from "./parts";

const SAID: Record<string, string> = {
  threw: "The component threw an error.",
  timed_out: "The run took longer than it may.",
  out_of_fuel: "The run did more work than it may.",
  out_of_memory: "The run used more memory than it may.",
};

export function ErrorBlock({ error }: { error: Thrown }) {
  return (
    <div class="stack tight">
      <div class="notice bad">
        <div>
          <div class="strong">
            {error.name}: {error.message}
          </div>
          {SAID[error.code] && error.code !== "threw" && <div class="small">{SAID[error.code]}</div>}
        </div>
        <CopyButton says="Copy the error" text={() => error.stack ?? `${error.name}: ${error.message}`} />
      </div>
      {error.stack && <pre class="block">{error.stack}</pre>}
      {error.cause && (
        <>
          <div class="tiny faint">caused by</div>
          <ErrorBlock error={{ ...error.cause, code: error.cause.code ?? "" }} />
        </>
      )}
    </div>
  );
}
