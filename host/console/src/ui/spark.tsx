// Small charts, drawn by hand: a bar per run, and runs over time.

import type { Run } from "../api/types";
import { clockTime } from "../state/time";

const BARS = 20;

/** The last runs, oldest first: how long they took, and which failed. */
export function Spark({ runs }: { runs: Run[] }) {
  const shown = runs.slice(0, BARS).reverse();
  const longest = Math.max(...shown.map((run) => run.ended_at_ms - run.started_at_ms), 1);
  const failed = shown.filter((run) => run.state === "error").length;
  return (
    <svg class="spark" viewBox={`0 0 ${BARS * 4} 20`} role="img" aria-label={shown.length === 0 ? "no recent runs" : `${shown.length} recent runs, ${failed} failed`}>
      {shown.map((run, index) => {
        const height = 3 + (17 * (run.ended_at_ms - run.started_at_ms)) / longest;
        return <rect key={run.id} x={(BARS - shown.length + index) * 4} y={20 - height} width="3" height={height} rx="1" class={run.state} />;
      })}
    </svg>
  );
}

/** Runs of the last hours in columns, by outcome. */
export function Columns({ runs, from_ms, to_ms, columns = 48 }: { runs: Run[]; from_ms: number; to_ms: number; columns?: number }) {
  const width = (to_ms - from_ms) / columns;
  const tallies = Array.from({ length: columns }, () => ({ success: 0, error: 0 }));
  for (const run of runs) {
    const tally = tallies[Math.min(Math.floor((run.started_at_ms - from_ms) / width), columns - 1)];
    if (tally && run.started_at_ms >= from_ms) tally[run.state] += 1;
  }
  const most = Math.max(...tallies.map((tally) => tally.success + tally.error), 1);
  const height = (value: number) => (value === 0 ? 0 : Math.max((value / most) * 76, 2));
  const failed = tallies.reduce((sum, tally) => sum + tally.error, 0);
  return (
    <svg class="columns-chart" viewBox={`0 0 ${columns * 10} 80`} preserveAspectRatio="none" role="img" aria-label={`${runs.length} runs since ${clockTime(from_ms)}, ${failed} failed`}>
      {tallies.map((tally, index) => (
        <g key={index}>
          <title>{`${clockTime(from_ms + index * width)}: ${tally.success + tally.error} runs, ${tally.error} failed`}</title>
          <rect x={index * 10} y="0" width="10" height="80" fill="transparent" />
          <rect x={index * 10 + 1.5} y={78 - height(tally.success) - height(tally.error)} width="7" height={height(tally.success)} class="success" />
          <rect x={index * 10 + 1.5} y={78 - height(tally.error)} width="7" height={height(tally.error)} class="error" />
          <rect x={index * 10 + 1.5} y="78" width="7" height="2" class="base" />
        </g>
      ))}
    </svg>
  );
}
