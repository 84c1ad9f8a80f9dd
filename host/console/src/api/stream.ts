// Server-sent events, read with fetch: an EventSource cannot go on after an event that the page has already, and tells no
// status when it is refused.

export interface StreamEvent {
  id: string;
  name: string;
  data: string;
}

/** Reads events until the stream ends. */
export async function parseStream(stream: ReadableStream<Uint8Array>, found: (event: StreamEvent) => void): Promise<void> {
  const reader = stream.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end: number;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = parseEvent(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (event) found(event);
    }
  }
}

function parseEvent(block: string): StreamEvent | undefined {
  const event: StreamEvent = { id: "", name: "message", data: "" };
  let hasData = false;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") event.id = value;
    if (field === "event") event.name = value;
    if (field === "data") {
      event.data = hasData ? `${event.data}\n${value}` : value;
      hasData = true;
    }
  }
  return hasData ? event : undefined;
}

/** Events that arrive within this time are shown together: faster than the eye reads, slow enough to draw. */
const FLUSH_MS = 80;

export type LiveState = "connecting" | "live" | "waiting" | "ended";

export interface Live<Item> {
  path: string;
  /** Where to go on, when something is shown already. */
  after?: string;
  /** Several at once: at most ten calls a second, however many events come in. */
  arrived: (items: Item[]) => void;
  changed: (state: LiveState) => void;
  /** Events were lost: what is shown has to be read again. */
  lost: () => void;
}

/** Follows a stream, and reconnects until it is closed. Nothing is read while the page is hidden for long. */
export function follow<Item>(live: Live<Item>): () => void {
  const abort = new AbortController();
  let last = live.after ?? "";
  let waiting: Item[] = [];
  let timer = 0;
  const flush = () => {
    timer = 0;
    const items = waiting;
    waiting = [];
    if (items.length > 0) live.arrived(items);
  };
  const take = (event: StreamEvent): boolean => {
    if (event.name === "gap") {
      live.lost();
      return true;
    }
    if (event.name === "end") return (JSON.parse(event.data) as { reason: string }).reason === "server_stopping";
    if (event.id) last = event.id;
    waiting.push(JSON.parse(event.data) as Item);
    // More than any list shows: only the newest count.
    if (waiting.length > 1000) waiting = waiting.slice(-500);
    if (timer === 0) timer = window.setTimeout(() => requestAnimationFrame(flush), FLUSH_MS);
    return true;
  };
  const run = async () => {
    let pause = 500;
    while (!abort.signal.aborted) {
      await visible(abort.signal);
      live.changed("connecting");
      let goesOn = true;
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (last) headers["Last-Event-ID"] = last;
        const connection = new AbortController();
        const stop = () => connection.abort();
        abort.signal.addEventListener("abort", stop, { once: true });
        const unhide = whenHidden(stop);
        try {
          const response = await fetch(`/v1${live.path}`, { headers, signal: connection.signal, credentials: "same-origin" });
          if (response.status === 401 || response.status === 404) goesOn = false;
          if (response.ok && response.body) {
            live.changed("live");
            pause = 500;
            await parseStream(response.body, (event) => {
              goesOn = take(event) && goesOn;
            });
          }
        } finally {
          unhide();
          abort.signal.removeEventListener("abort", stop);
        }
      } catch {
        // The connection broke, or the page was hidden: try again.
      }
      if (abort.signal.aborted) return;
      if (!goesOn) return live.changed("ended");
      live.changed("waiting");
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, 15_000);
    }
  };
  void run();
  return () => {
    abort.abort();
    window.clearTimeout(timer);
  };
}

/** A browser has six connections to a server: tabs in the background give theirs back. */
const HIDDEN_MS = 20_000;

function whenHidden(act: () => void): () => void {
  let timer = 0;
  const look = () => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(act, HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

function visible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
  });
}
