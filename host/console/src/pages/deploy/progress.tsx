// How far a deploy is, and where its code is wrong.

import type { ApiError, Progress } from "../../api/client";
import { bytes } from "../../state/time";
import type { EditorProblem } from "../../ui/editor";

const STAGES: Record<string, string> = {
  resolving: "Resolving packages",
  downloading: "Downloading packages",
  unpacking: "Unpacking packages",
  linking: "Linking modules",
  loading: "Loading the component",
  describing: "Reading its props",
  hook: "Running a hook",
};

export function ProgressLine({ progress }: { progress: Progress }) {
  const { stage, packages, of, modules, bytes: size } = progress;
  const parts = [of ? `${packages ?? 0} of ${of}` : undefined, modules ? `${modules} modules` : undefined, size ? bytes(size) : undefined].filter(Boolean);
  const done = of ? (packages ?? 0) / of : undefined;
  return (
    <div class="stack tight" role="status">
      <div class="row small">
        <span class="dot live" />
        <span>{STAGES[stage] ?? stage}…</span>
        <span class="faint number">{parts.join(" · ")}</span>
      </div>
      <div class="meter">
        <span style={{ width: `${Math.round((done ?? 0.5) * 100)}%` }} />
      </div>
    </div>
  );
}

/** The place in the code that an answer names. */
export function problemsOf(error: ApiError): EditorProblem[] {
  const { line, column } = (error.details ?? {}) as { line?: number; column?: number };
  return typeof line === "number" ? [{ line, column: typeof column === "number" ? column : 1, message: error.message }] : [];
}
