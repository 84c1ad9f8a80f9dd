// CodeMirror in a shadow root: there it keeps its styles in adopted sheets, which the page's policy allows, and not in
// style elements, which it does not.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

interface Options {
  value: string;
  language: "javascript" | "typescript" | "json";
  label: string;
  isReadOnly: boolean;
  isDark: boolean;
  change: (value: string) => void;
  submit: () => void;
}

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "transparent", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-3)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 14px", minWidth: "34px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--ink) 4%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-matchingBracket": { outline: "1px solid var(--line-strong)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--code-word)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: "var(--code-key)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
]);

function languageOf(language: Options["language"]): Extension {
  return language === "json" ? json() : javascript({ typescript: language === "typescript" });
}

export function mount(host: HTMLElement, options: Options) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open", delegatesFocus: true });
  root.replaceChildren();
  const frame = document.createElement("div");
  frame.style.height = "100%";
  root.append(frame);
  const shade = new Compartment();
  const view = new EditorView({
    parent: frame,
    root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        languageOf(options.language),
        look,
        syntaxHighlighting(colours),
        EditorState.tabSize.of(2),
        EditorState.readOnly.of(options.isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": options.label, tabindex: "0" }),
        shade.of(EditorView.darkTheme.of(options.isDark)),
        // Tab indents; Escape and then Tab leaves, as the editor's manual says.
        keymap.of([
          {
            key: "Mod-Enter",
            run: () => {
              options.submit();
              return true;
            },
          },
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...completionKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.change(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    destroy: () => view.destroy(),
    setValue: (value: string) => {
      const known = view.state.doc.toString();
      if (known !== value) view.dispatch({ changes: { from: 0, to: known.length, insert: value } });
    },
    setDark: (isDark: boolean) => view.dispatch({ effects: shade.reconfigure(EditorView.darkTheme.of(isDark)) }),
    setProblems: (problems: { line: number; column: number; message: string }[]) => {
      const found: Diagnostic[] = problems.map((problem) => {
        const line = view.state.doc.line(Math.min(Math.max(problem.line, 1), view.state.doc.lines));
        const from = Math.min(line.from + Math.max(problem.column - 1, 0), line.to);
        return { from, to: Math.max(line.to, from), severity: "error", message: problem.message };
      });
      view.dispatch(setDiagnostics(view.state, found));
    },
  };
}
