// When a timer runs: every so often, or as a cron expression says.

import type { Json } from "../../api/types";
import { Choices } from "../../ui/parts";

interface Timer {
  cron?: string | null;
  intervalSeconds?: number;
}

const EVERY: [number, string][] = [
  [60, "minute"],
  [300, "5 minutes"],
  [900, "15 minutes"],
  [3600, "hour"],
  [21_600, "6 hours"],
  [86_400, "day"],
];

export function TimerField({ id, label, hint, value, set, wrong }: { id: string; label: string; hint?: string; value: Json | undefined; set: (value: Json) => void; wrong?: string }) {
  const timer = (value ?? { intervalSeconds: 900 }) as Timer;
  const isCron = typeof timer.cron === "string";
  const seconds = timer.intervalSeconds ?? 900;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="row wrap">
        <Choices
          label="Kind of schedule"
          value={isCron ? "cron" : "every"}
          options={[
            { value: "every", text: "Every" },
            { value: "cron", text: "Cron" },
          ]}
          change={(kind) => set(kind === "cron" ? { cron: "0 * * * *" } : { intervalSeconds: 900 })}
        />
        {isCron ? (
          <input id={id} class="input mono" style={{ flex: 1 }} value={timer.cron ?? ""} onInput={(event) => set({ cron: event.currentTarget.value })} />
        ) : (
          <select id={id} class="input" style={{ flex: 1 }} value={String(seconds)} onChange={(event) => set({ intervalSeconds: Number(event.currentTarget.value) })}>
            {EVERY.map(([size, text]) => (
              <option key={size} value={String(size)}>
                {text}
              </option>
            ))}
            {!EVERY.some(([size]) => size === seconds) && <option value={String(seconds)}>{seconds} seconds</option>}
          </select>
        )}
      </div>
      <div class="hint">{hint ?? (isCron ? "Minute, hour, day of the month, month, day of the week; in UTC." : "")}</div>
      {wrong && <div class="wrong">{wrong}</div>}
    </div>
  );
}
