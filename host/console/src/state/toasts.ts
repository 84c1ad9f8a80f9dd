// Short notes about what was done, or was not.

import { signal } from "@preact/signals";
import { messageOf } from "../api/client";

export interface Toast {
  id: number;
  tone: "good" | "bad" | "plain";
  text: string;
}

export const toasts = signal<Toast[]>([]);

let next = 0;

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function toast(text: string, tone: Toast["tone"] = "good"): void {
  const id = ++next;
  toasts.value = [...toasts.value.slice(-3), { id, tone, text }];
  // What went wrong has to be read.
  setTimeout(() => dismiss(id), tone === "bad" ? 9000 : 3500);
}

/** Runs a change and tells how it went; false when it failed. */
export async function attempt(done: string | undefined, change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change();
    if (done) toast(done);
    return true;
  } catch (error) {
    toast(messageOf(error), "bad");
    return false;
  }
}
