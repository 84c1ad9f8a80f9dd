// What a source emitted, as it happens.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, send } from "../../api/client";
import type { EventSummary, Json, Page, Source } from "../../api/types";
import { useResource } from "../../state/resource";
import { Link, search, setSearch } from "../../state/router";
import { may } from "../../state/session";
import { plural } from "../../state/time";
import { attempt } from "../../state/toasts";
import { Confirm } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { LiveDot, useLiveList } from "../../ui/live";
import { memo } from "../../ui/memo";
import { At, Bones, Button, Card, CopyButton, Empty, Failure, Search, Sentinel } from "../../ui/parts";
import { contains, Marked, Tree } from "../../ui/tree";
import { RedeliverDialog } from "./redeliver";

const idOf = (event: EventSummary) => event.id;
const same = (event: EventSummary) => event;

export function EventsTab({ source, test }: { source: Source; test: () => void }) {
  const [stream, setStream] = useState("default");
  const [isPaused, setPaused] = useState(false);
  const [find, setFind] = useState("");
  const [asks, setAsks] = useState(false);
  const streams = useResource<{ name: string; events: number }[]>(`/sources/${source.id}/streams`);
  const name = encodeURIComponent(stream);
  const live = useLiveList<EventSummary>({
    list: `/sources/${source.id}/event_summaries?event_name=${name}`,
    stream: `/sources/${source.id}/sse?event_name=${name}`,
    idOf,
    itemOf: same,
    isPaused,
  });
  const opened = useRef(Date.now());
  const target = search.value.get("event");
  const latest = useRef(live);
  latest.current = live;
  const removed = useCallback((id: string) => latest.current.remove((one) => one.id === id), []);
  const word = find.trim().toLowerCase();
  const shown = useMemo(() => (word === "" ? live.items : live.items?.filter((event) => matches(event, word))), [live.items, word]);
  const names = useMemo(() => [...new Set(["default", "$errors", ...(streams.data ?? []).map((one) => one.name)])].filter((one) => one !== "$logs" && one !== "$runs"), [streams.data]);
  return (
    <div class="stack">
      <div class="row wrap">
        <Search value={find} change={setFind} label="Search events" placeholder="Search in events" />
        <select class="input" aria-label="Stream" style={{ width: "auto" }} value={stream} onChange={(event) => setStream(event.currentTarget.value)}>
          {names.map((one) => (
            <option key={one} value={one}>
              {one === "default" ? "Events" : one === "$errors" ? "Errors" : one}
            </option>
          ))}
        </select>
        <span class="row push">
          <LiveDot state={live.state} />
          <Button isLittle icon={isPaused ? "run" : "pause"} onClick={() => setPaused(!isPaused)}>
            {isPaused ? (live.waiting > 0 ? `Show ${live.waiting} new` : "Resume") : "Pause"}
          </Button>
          {may("write") && live.items !== undefined && live.items.length > 0 && <Button isLittle tone="bare" icon="trash" says="Delete all events of this stream" onClick={() => setAsks(true)} />}
        </span>
      </div>
      {live.error && <Failure error={live.error} retry={live.reload} />}
      <Card label="Events">
        {shown === undefined && !live.error && <Bones rows={6} />}
        {shown?.length === 0 && (word === "" ? <NoEvents stream={stream} test={test} /> : <Empty icon="search" title="Nothing fits">None of the {plural(live.items?.length ?? 0, "event")} shown holds “{find.trim()}”.</Empty>)}
        {shown && shown.length > 0 && (
          <div class="lines">
            {shown.map((event) => (
              <EventRow key={event.id} event={event} source={source} stream={stream} find={word} isFresh={event.indexed_at_ms > opened.current} isTarget={target === event.id || target === event.metadata.emit_id} removed={removed} />
            ))}
          </div>
        )}
        {live.hasMore && <Sentinel seen={live.more} />}
      </Card>
      {asks && (
        <Confirm
          title="Delete these events?"
          says={`Every event of the stream “${stream}” is deleted. Listeners that got them keep them.`}
          action="Delete the events"
          close={() => setAsks(false)}
          act={async () => {
            await send("DELETE", `/sources/${source.id}/events?event_name=${name}`);
            live.remove(() => true);
          }}
        />
      )}
    </div>
  );
}

function NoEvents({ stream, test }: { stream: string; test: () => void }) {
  if (stream === "$errors") return <Empty icon="check" title="No errors">When a run of this source fails, the error and the event that caused it are here.</Empty>;
  return (
    <Empty
      icon="inbox"
      title="Waiting for the first event"
      action={
        may("write") && (
          <Button icon="send" tone="primary" onClick={test}>
            Send a test
          </Button>
        )
      }
    >
      What the source emits appears here at once. Send it a request, wait for its timer, or try it by hand.
    </Empty>
  );
}

function matches(event: EventSummary, word: string): boolean {
  return event.id.includes(word) || (event.metadata.summary ?? "").toLowerCase().includes(word) || contains(event.event, word);
}

interface RowProps {
  event: EventSummary;
  source: Source;
  stream: string;
  find: string;
  isFresh: boolean;
  /** The address names it. */
  isTarget: boolean;
  removed: (id: string) => void;
}

const EventRow = memo(function EventRow({ event, source, stream, find, isFresh, isTarget, removed }: RowProps) {
  const [isOpen, setOpen] = useState(isTarget);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isTarget) element.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const toggle = () => {
    setOpen(!isOpen);
    setSearch({ event: isOpen ? undefined : event.id });
  };
  return (
    <div ref={element} class={`event ${isFresh ? "fresh" : ""}`}>
      <button type="button" class="line" aria-expanded={isOpen} onClick={toggle}>
        <span class="twisty">
          <Icon name="chevron" />
        </span>
        <span class="small faint">
          <At at_ms={event.indexed_at_ms} precise />
        </span>
        <span class="grow cut">
          {event.metadata.summary !== undefined && (
            <span class="small strong">
              <Marked text={event.metadata.summary} find={find} />{" "}
            </span>
          )}
          <span class="preview">
            <Marked text={preview(event.event)} find={find} />
          </span>
        </span>
      </button>
      {isOpen && <Detail event={event} source={source} stream={stream} find={find} removed={removed} />}
    </div>
  );
});

function Detail({ event, source, stream, find, removed }: Omit<RowProps, "isFresh" | "isTarget">) {
  const [whole, setWhole] = useState<Json | undefined>(undefined);
  const [isAsked, setAsked] = useState(false);
  const value = whole ?? event.event;
  const load = () =>
    attempt(undefined, async () => {
      const previous = `${BigInt(event.id.split("-")[0] ?? "0") + 1n}-0`;
      const page = await call<Page<EventSummary>>("GET", `/sources/${source.id}/event_summaries?event_name=${encodeURIComponent(stream)}&expand=event&limit=20&after=${previous}`);
      const found = page.data.find((one) => one.id === event.id);
      if (found) setWhole(found.event);
    });
  return (
    <div class="detail stack tight">
      <div class="row wrap tiny faint">
        <span class="mono">{event.id}</span>
        {event.metadata.id !== undefined && <span>dedupe id {event.metadata.id}</span>}
        <span class="row push">
          {event.metadata.run_id && (
            <Link class="link" to={`/runs/${event.metadata.run_id}`}>
              Open its run
            </Link>
          )}
          {may("write") && (
            <Button tone="bare" isLittle icon="retry" onClick={() => setAsked(true)}>
              Deliver again
            </Button>
          )}
          <CopyButton text={() => JSON.stringify(value, null, 2)} says="Copy the event as JSON" />
          {may("write") && (
            <Button
              tone="bare"
              isLittle
              icon="trash"
              says="Delete this event"
              onClick={() =>
                void attempt("Deleted", async () => {
                  await send("DELETE", `/sources/${source.id}/events?event_name=${encodeURIComponent(stream)}&start_id=${event.id}&end_id=${event.id}`);
                  removed(event.id);
                })
              }
            />
          )}
        </span>
      </div>
      {event.event_truncated && whole === undefined && (
        <p class="small quiet">
          The event is large, and shown in part.{" "}
          <button type="button" class="link" onClick={() => void load()}>
            Show all of it
          </button>
        </p>
      )}
      <Tree value={value} depth={3} find={find} />
      {isAsked && <RedeliverDialog event={event} source={source} stream={stream} close={() => setAsked(false)} />}
    </div>
  );
}

export function preview(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 220 ? `${text.slice(0, 220)}…` : text;
}
