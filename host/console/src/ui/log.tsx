// Lines of a log, as a run or a step wrote them.

import { At } from "./parts";

interface Line {
  id?: string;
  at_ms: number;
  level: string;
  message: string;
}

export function LogLines({ lines, label }: { lines: Line[]; label: string }) {
  return (
    <div class="log" tabIndex={0} role="log" aria-label={label}>
      {lines.map((line, index) => (
        <div key={line.id ?? index} class={`entry ${line.level}`}>
          <span class="faint">
            <At at_ms={line.at_ms} precise />
          </span>
          <span class="level">{line.level}</span>
          <span class="text">{line.message}</span>
        </div>
      ))}
    </div>
  );
}
