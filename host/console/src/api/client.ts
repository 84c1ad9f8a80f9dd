// Calls of the public API. The session is a cookie that scripts cannot read; `Wellspring-Console` tells the server that a
// change comes from this page, because a page of another origin cannot send it.

import { signal } from "@preact/signals";
import { parseStream } from "./stream";
import type { Json, Page } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details?: Record<string, Json>,
    readonly requestId?: string | null,
  ) {
    super(message);
  }
}

/** Set when an answer says that the session is over; the shell then asks to sign in. */
export const isSignedOut = signal(false);

type Body = Record<string, unknown> | unknown[] | string | number | boolean | null;

export interface CallOptions {
  body?: Body;
  key?: string;
  signal?: AbortSignal;
}

/** Whether the browser asks for all parts of this path: it drops a part `.`, takes `..` for the folder above, and a path without its last part is that of the whole list. */
function isKept(path: string): boolean {
  const [bare = ""] = path.split("?");
  const asked = new URL(`/v1${path}`, location.origin).pathname.split("/").slice(2);
  return asked.length === bare.split("/").length - 1 && !asked.includes("");
}

/** Where a stored value is: below `keys`, or, when no part of a path can be its key, at `single` with the key as a parameter. */
export function addressOfKey(keys: string, single: string, key: string): string {
  return ["", ".", ".."].includes(key) ? `${single}?key=${key}` : `${keys}/${encodeURIComponent(key)}`;
}

function request(method: string, path: string, options: CallOptions, accept: string): Promise<Response> {
  if (!isKept(path)) return Promise.reject(new ApiError(0, "no_address", "No address can hold this name."));
  const headers: Record<string, string> = { "Wellspring-Console": "1", Accept: accept };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.key) headers["Authorization"] = `Bearer ${options.key}`;
  return fetch(`/v1${path}`, {
    method,
    headers,
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    signal: options.signal,
    credentials: "same-origin",
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is it running?");
  });
}

function failure(status: number, body: unknown, requestId: string | null, hasKey: boolean): ApiError {
  const told = (body ?? {}) as { error?: string; code?: string; details?: Record<string, Json> };
  if (status === 401 && !hasKey) isSignedOut.value = true;
  return new ApiError(status, told.code ?? "unknown", told.error ?? `The server answered ${status}.`, told.details, requestId);
}

/** The whole answer; most callers want `get`, `list` or `send`. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await request(method, path, options, "application/json");
  const text = await response.text();
  let body: unknown;
  try {
    body = text === "" ? undefined : JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (!response.ok) throw failure(response.status, body, response.headers.get("x-request-id"), options.key !== undefined);
  return body as T;
}

export async function get<T>(path: string, options?: CallOptions): Promise<T> {
  return (await call<{ data: T }>("GET", path, options)).data;
}

export function list<T>(path: string, options?: CallOptions): Promise<Page<T>> {
  return call<Page<T>>("GET", path, options);
}

export async function send<T = void>(method: "POST" | "PUT" | "DELETE", path: string, body?: Body, key?: string): Promise<T> {
  const answer = await call<{ data: T } | undefined>(method, path, { body, key });
  return answer?.data as T;
}

export interface Progress {
  stage: string;
  packages?: number;
  modules?: number;
  of?: number;
  bytes?: number;
  hook?: string;
}

/** A change whose progress is told while it is made: deploys, which may download packages. */
export async function sendFollowed<T>(method: "POST" | "PUT", path: string, body: Body, told: (progress: Progress) => void): Promise<T> {
  const response = await request(method, path, { body }, "text/event-stream");
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const parsed = (await response.json().catch(() => undefined)) as { data: T } | undefined;
    if (!response.ok) throw failure(response.status, parsed, response.headers.get("x-request-id"), false);
    return parsed?.data as T;
  }
  let answer: { status: number; body: { data: T } } | undefined;
  await parseStream(response.body, (event) => {
    if (event.name === "progress") told(JSON.parse(event.data) as Progress);
    if (event.name === "answer") answer = JSON.parse(event.data) as typeof answer;
  });
  if (!answer) throw new ApiError(0, "cut_off", "The connection ended before the answer. Look at the list of sources before you try again.");
  if (answer.status >= 400) throw failure(answer.status, answer.body, response.headers.get("x-request-id"), false);
  return answer.body.data;
}

/** What to show of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function query(parameters: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
