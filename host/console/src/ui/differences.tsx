// Two texts, line by line: what went and what came, with some lines around.

import { useMemo } from "preact/hooks";

interface Line {
  kind: "same" | "gone" | "new";
  text: string;
}

const AROUND = 3;
/** More lines than this are not compared: the table of the comparison grows with their product. */
const COMPARED = 2000;

/** The longest common subsequence of lines, read backwards. */
export function compare(before: string[], after: string[]): Line[] {
  if (before.length * after.length > COMPARED * COMPARED) return [...before.map((text): Line => ({ kind: "gone", text })), ...after.map((text): Line => ({ kind: "new", text }))];
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] = before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, next] = [before[row] ?? "", after[column] ?? ""];
    if (row < before.length && column < after.length && old === next) {
      lines.push({ kind: "same", text: old });
      [row, column] = [row + 1, column + 1];
    } else if (row < before.length && (column >= after.length || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: "gone", text: old });
      row += 1;
    } else {
      lines.push({ kind: "new", text: next });
      column += 1;
    }
  }
  return lines;
}

export function Differences({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => compare(before.split("\n"), after.split("\n")), [before, after]);
  const isNear = (index: number) => lines.slice(Math.max(index - AROUND, 0), index + AROUND + 1).some((line) => line.kind !== "same");
  if (lines.every((line) => line.kind === "same")) return <p class="body small quiet">Nothing changed.</p>;
  return (
    <pre class="block lines-diff" tabIndex={0} aria-label="What changed">
      {lines.map((line, index) => {
        if (!isNear(index)) return isNear(index + 1) ? <div key={index} class="faint">{"  …"}</div> : null;
        const mark = line.kind === "gone" ? "-" : line.kind === "new" ? "+" : " ";
        return (
          <div key={index} class={line.kind}>
            {mark} {line.text}
          </div>
        );
      })}
    </pre>
  );
}
