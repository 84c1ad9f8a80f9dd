// The numbers of the server, out of `/metrics`: text that Prometheus reads, and so can this page.

import { ApiError } from "./client";

interface Sample {
  labels: Record<string, string>;
  value: number;
}

export class Metrics {
  private readonly series = new Map<string, Sample[]>();

  constructor(
    text: string,
    readonly at_ms: number,
  ) {
    for (const line of text.split("\n")) {
      const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
      if (!found) continue;
      const [, name = "", labels = "", value = ""] = found;
      const samples = this.series.get(name) ?? [];
      samples.push({ labels: labelsOf(labels), value: Number(value) });
      this.series.set(name, samples);
    }
  }

  /** The series of a name whose labels are those given. */
  of(name: string, labels: Record<string, string> = {}): Sample[] {
    const isWanted = (sample: Sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
    return (this.series.get(name) ?? []).filter(isWanted);
  }

  /** Of all of them together; none when there is no such series. */
  sum(name: string, labels: Record<string, string> = {}): number | undefined {
    const samples = this.of(name, labels);
    return samples.length === 0 ? undefined : samples.reduce((sum, sample) => sum + sample.value, 0);
  }

  /** The bound below which this part of a histogram's observations lies, as Prometheus estimates it. */
  quantile(name: string, part: number): number | undefined {
    const buckets = new Map<number, number>();
    for (const { labels, value } of this.of(`${name}_bucket`)) {
      const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
    const bounds = [...buckets].sort(([one], [other]) => one - other);
    const total = bounds.at(-1)?.[1] ?? 0;
    if (total === 0) return undefined;
    let [below, before] = [0, 0];
    for (const [bound, count] of bounds) {
      if (count >= total * part) return bound === Infinity ? below : below + ((bound - below) * (total * part - before)) / Math.max(count - before, 1);
      [below, before] = [bound, count];
    }
    return below;
  }
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
  return labels;
}

export async function readMetrics(): Promise<Metrics> {
  const response = await reach("/metrics");
  if (!response.ok) throw new ApiError(response.status, "unknown", `/metrics answered ${response.status}. A proxy before the server may keep it from browsers.`);
  return new Metrics(await response.text(), Date.now());
}

/** Whether the server can be sent work, and why not. */
export async function readReadiness(): Promise<{ isReady: boolean; text: string }> {
  const response = await reach("/readyz");
  return { isReady: response.ok, text: (await response.text()).trim().replace(/^not ready: /, "") };
}

function reach(path: string): Promise<Response> {
  return fetch(path, { credentials: "omit" }).catch(() => {
    throw new ApiError(0, "unreachable", "The server does not answer. Is it running?");
  });
}
