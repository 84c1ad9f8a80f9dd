// What a workflow emitted, or what it failed with.

import { useState } from "preact/hooks";
import type { EventSummary } from "../../api/types";
import { usePage } from "../../state/resource";
import { Icon } from "../../ui/icon";
import { Ago, Bones, Card, CopyButton, Empty, Failure } from "../../ui/parts";
import { Tree } from "../../ui/tree";

/** How often a list that is looked at is read again. */
const EVERY_MS = 5000;

export function EventsTab({ path, nothing }: { path: string; nothing: string }) {
  const page = usePage<EventSummary>(`${path}?limit=100&expand=event`, { every_ms: EVERY_MS });
  const list = page.data?.data;
  if (page.error && !list) return <Failure error={page.error} retry={() => void page.reload()} />;
  return (
    <Card label="Events">
      {!list && <Bones />}
      {list?.length === 0 && (
        <Empty icon="bolt" title="Nothing yet">
          {nothing}
        </Empty>
      )}
      <div class="lines">{list?.map((event) => <EventLine key={event.id} event={event} />)}</div>
    </Card>
  );
}

function EventLine({ event }: { event: EventSummary }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="event">
      <button type="button" class="line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "chevron"} />
        <span class="grow cut small">{event.metadata.summary ?? JSON.stringify(event.event)}</span>
        <span class="tiny faint when">
          <Ago at_ms={event.indexed_at_ms} />
        </span>
      </button>
      {isOpen && (
        <div class="body">
          <div class="row">
            <span class="push" />
            <CopyButton text={() => JSON.stringify(event.event, null, 2)} says="Copy the event" />
          </div>
          <Tree value={event.event} depth={3} />
        </div>
      )}
    </div>
  );
}
