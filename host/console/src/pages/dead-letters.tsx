// Deliveries that were given up.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { DeadLetter, Webhook } from "../api/types";
import { usePage } from "../state/resource";
import { may } from "../state/session";
import { nameOf } from "../state/sources";
import { attempt } from "../state/toasts";
import { Icon } from "../ui/icon";
import { Ago, Bones, Button, Card, Empty, Failure, PageHead } from "../ui/parts";
import { Tree } from "../ui/tree";

export function DeadLetters() {
  const letters = usePage<DeadLetter>("/users/me/dead_letters?limit=100", { every_ms: 15_000 });
  const hooks = usePage<Webhook>("/users/me/webhooks?limit=100");
  const names = new Map((hooks.data?.data ?? []).map((hook) => [hook.id, hook.name ?? hook.url]));
  const list = letters.data?.data;
  const again = async (ones: DeadLetter[]) => {
    const isDone = await attempt(ones.length === 1 ? "It is delivered again" : `${ones.length} are delivered again`, async () => {
      for (const one of ones) await send("POST", `/dead_letters/${one.id}/replay`);
    });
    if (isDone) await letters.reload();
  };
  return (
    <div class="page">
      <PageHead
        title="Dead letters"
        says="Deliveries that failed again and again, and were given up"
        actions={
          may("write") &&
          list &&
          list.length > 1 && (
            <Button icon="retry" onClick={() => void again(list)}>
              Deliver all again
            </Button>
          )
        }
      />
      {letters.error && <Failure error={letters.error} retry={() => void letters.reload()} />}
      <Card label="Dead letters">
        {!list && !letters.error && <Bones rows={4} />}
        {list?.length === 0 && (
          <Empty icon="check" title="Nothing was given up">
            A delivery is tried for days before it ends here. From here it can be delivered again, when its receiver works.
          </Empty>
        )}
        <div class="lines">
          {list?.map((letter) => (
            <Letter key={letter.id} letter={letter} to={names.get(letter.listener) ?? nameOf(letter.listener) ?? letter.listener} again={() => void again([letter])} />
          ))}
        </div>
      </Card>
    </div>
  );
}

function Letter({ letter, to, again }: { letter: DeadLetter; to: string; again: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="event">
      <button type="button" class="line small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="twisty">
          <Icon name="chevron" />
        </span>
        <span class="grow cut">
          <span class="strong">{nameOf(letter.emitter) ?? letter.emitter}</span> <span class="faint">to</span> <span class="strong">{to}</span>
          <span class="error-text"> {letter.reason}</span>
        </span>
        <span class="faint when">
          <Ago at_ms={letter.created_at * 1000} />
        </span>
      </button>
      {isOpen && (
        <div class="detail stack tight">
          <div class="row small">
            <span class="quiet">{letter.attempts} attempts</span>
            <span class="push" />
            {may("write") && (
              <Button isLittle icon="retry" onClick={again}>
                Deliver again
              </Button>
            )}
          </div>
          <Tree value={letter.event} depth={3} />
        </div>
      )}
    </div>
  );
}
