// A list of the newest items that grows while it is looked at.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { ApiError, list } from "../api/client";
import { follow, type LiveState } from "../api/stream";
import type { EventSummary } from "../api/types";

/** Rows that stay on the page: the newest, when events come faster than they can be read. */
const KEPT = 300;
/** Before every event of a stream. */
const FIRST = "0-0";

interface Options<Item> {
  /** The list that is read first, newest first. */
  list: string;
  /** The stream that goes on from there. */
  stream: string;
  idOf: (item: Item) => string;
  /** An item out of what the stream sends. */
  itemOf: (event: EventSummary) => Item;
  /** The id in the stream from which to go on after an item; its own one when absent. */
  cursorOf?: (item: Item) => string;
  /** What of the stream belongs to the list, when that is narrowed. */
  isWanted?: (item: Item) => boolean;
  isPaused?: boolean;
}

export interface LiveList<Item> {
  items: Item[] | undefined;
  error: ApiError | undefined;
  state: LiveState;
  /** Arrived while the list is paused. */
  waiting: number;
  hasMore: boolean;
  more: () => void;
  reload: () => void;
  remove: (gone: (item: Item) => boolean) => void;
}

export function useLiveList<Item>({ list: path, stream, idOf, itemOf, cursorOf = idOf, isWanted = everything, isPaused = false }: Options<Item>): LiveList<Item> {
  const items = useSignal<Item[] | undefined>(undefined);
  const held = useSignal<Item[]>([]);
  const error = useSignal<ApiError | undefined>(undefined);
  const state = useSignal<LiveState>("connecting");
  const hasMore = useSignal(false);
  const generation = useSignal(0);
  const paused = useRef(isPaused);
  paused.current = isPaused;

  const merge = useCallback(
    (fresh: Item[]) => {
      const known = new Set((items.value ?? []).slice(0, KEPT).map(idOf));
      const added = fresh.filter((item) => !known.has(idOf(item)));
      if (added.length === 0) return;
      const all = [...added.reverse(), ...(items.value ?? [])];
      items.value = all.slice(0, KEPT);
      // What goes for lack of room is found again below.
      if (all.length > KEPT) hasMore.value = true;
    },
    [idOf],
  );

  useEffect(() => {
    let close: (() => void) | undefined;
    let isGone = false;
    items.value = undefined;
    held.value = [];
    error.value = undefined;
    const joint = path.includes("?") ? "&" : "?";
    list<Item>(`${path}${joint}limit=100`)
      .then((page) => {
        if (isGone) return;
        items.value = page.data;
        hasMore.value = page.data.length === 100;
        const newest = page.data[0];
        close = follow<EventSummary>({
          path: stream,
          // What came between the list and the stream is sent first, so that nothing is missed.
          after: newest === undefined ? FIRST : cursorOf(newest),
          arrived: (events) => {
            const fresh = events.map(itemOf).filter(isWanted);
            if (paused.current) held.value = [...held.value, ...fresh].slice(-KEPT);
            else merge(fresh);
          },
          changed: (next) => {
            state.value = next;
          },
          lost: () => {
            generation.value += 1;
          },
        });
      })
      .catch((failed: unknown) => {
        if (!isGone) error.value = failed instanceof ApiError ? failed : new ApiError(0, "unknown", String(failed));
      });
    return () => {
      isGone = true;
      close?.();
    };
  }, [path, stream, generation.value]);

  useEffect(() => {
    if (isPaused || held.value.length === 0) return;
    merge(held.value);
    held.value = [];
  }, [isPaused]);

  return {
    items: items.value,
    error: error.value,
    state: state.value,
    waiting: held.value.length,
    hasMore: hasMore.value,
    more: () => {
      const last = items.value?.at(-1);
      if (last === undefined || !hasMore.value) return;
      hasMore.value = false;
      const joint = path.includes("?") ? "&" : "?";
      void list<Item>(`${path}${joint}limit=100&after=${encodeURIComponent(idOf(last))}`).then((page) => {
        items.value = [...(items.value ?? []), ...page.data];
        hasMore.value = page.data.length === 100;
      });
    },
    reload: () => {
      generation.value += 1;
    },
    remove: (gone) => {
      items.value = items.value?.filter((item) => !gone(item));
    },
  };
}


const everything = () => true;

const SAID: Record<LiveState, [string, string]> = {
  connecting: ["warn", "Connecting"],
  live: ["live", "Live"],
  waiting: ["warn", "Reconnecting"],
  ended: ["", "Ended"],
};

export function LiveDot({ state }: { state: LiveState }) {
  const [tone, text] = SAID[state];
  return (
    <span class="row tiny quiet" role="status">
      <span class={`dot ${tone}`} />
      {text}
    </span>
  );
}
