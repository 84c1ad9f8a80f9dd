// The code editor: loaded when one is shown, since it is larger than everything else together.

import { useEffect, useRef, useState } from "preact/hooks";
import { shownTheme } from "../state/theme";

export interface EditorProblem {
  line: number;
  column: number;
  message: string;
}

interface Props {
  value: string;
  change?: (value: string) => void;
  language?: "javascript" | "typescript" | "json";
  label: string;
  height?: string;
  isReadOnly?: boolean;
  problems?: EditorProblem[];
  /** Ctrl-Enter. */
  submit?: () => void;
}

/** Values that may be on their way back. */
const TYPED = 50;

type Handle = Awaited<ReturnType<typeof load>>;

function load() {
  return import("../editor/editor");
}

export function Editor(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<ReturnType<Handle["mount"]> | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [isFailed, setFailed] = useState(false);
  // What was typed comes back as the value, late when one types fast: only another value is one to show.
  const typed = useRef<string[]>([]);
  useEffect(() => {
    let isGone = false;
    load()
      .then(({ mount }) => {
        if (isGone || !host.current) return;
        const { value, language = "javascript", label, isReadOnly = false } = latest.current;
        view.current = mount(host.current, {
          value,
          language,
          label,
          isReadOnly,
          isDark: shownTheme.value === "dark",
          change: (text) => {
            typed.current = [...typed.current.slice(-TYPED), text];
            latest.current.change?.(text);
          },
          submit: () => latest.current.submit?.(),
        });
        view.current.setProblems(latest.current.problems ?? []);
      })
      .catch(() => setFailed(true));
    return () => {
      isGone = true;
      view.current?.destroy();
    };
  }, [props.language]);
  useEffect(() => {
    if (typed.current.includes(props.value)) return;
    typed.current = [];
    view.current?.setValue(props.value);
  }, [props.value]);
  useEffect(() => view.current?.setProblems(props.problems ?? []), [props.problems]);
  useEffect(() => view.current?.setDark(shownTheme.value === "dark"), [shownTheme.value]);
  if (isFailed) {
    return <textarea class="input mono" aria-label={props.label} value={props.value} readOnly={props.isReadOnly} style={{ height: props.height ?? "320px" }} onInput={(event) => props.change?.(event.currentTarget.value)} />;
  }
  return <div ref={host} class="editor" data-editor={props.label} style={{ height: props.height ?? "320px" }} />;
}
