// Times and quantities as text.

import { signal } from "@preact/signals";

/** Moves on every few seconds, so that relative times do. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5000);

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const number = new Intl.NumberFormat(undefined);
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export function relative(at_ms: number, now_ms: number): string {
  const seconds = Math.round((now_ms - at_ms) / 1000);
  const isPast = seconds >= 0;
  const size = Math.abs(seconds);
  const text =
    size < 5 ? "" : size < 60 ? `${size}s` : size < 3600 ? `${Math.floor(size / 60)}m` : size < 86_400 ? `${Math.floor(size / 3600)}h` : `${Math.floor(size / 86_400)}d`;
  if (text === "") return isPast ? "just now" : "now";
  return isPast ? `${text} ago` : `in ${text}`;
}

/** With the day when it is another one. */
export function clockTime(at_ms: number, isPrecise = false): string {
  const at = new Date(at_ms);
  const text = clock.format(at) + (isPrecise ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "");
  return at.toDateString() === new Date().toDateString() ? text : `${day.format(at)}, ${text}`;
}

export function wholeTime(at_ms: number): string {
  return `${whole.format(new Date(at_ms))}\n${new Date(at_ms).toISOString()}`;
}

export function duration(ms: number): string {
  if (ms < 1) return ms <= 0 ? "<1 ms" : `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Number((ms / 3_600_000).toFixed(1))} h`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1 << 20) return `${(size / 1024).toFixed(1)} KB`;
  if (size < 1 << 30) return `${(size / (1 << 20)).toFixed(1)} MB`;
  return `${(size / (1 << 30)).toFixed(1)} GB`;
}

export const count = (value: number): string => number.format(value);
export const short = (value: number): string => compact.format(value);
export const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;
