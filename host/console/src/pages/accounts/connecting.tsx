// Connecting an account on its own page, beside this one: opened from here, and waited for.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, messageOf, send } from "../../api/client";
import type { ConnectWish } from "../../api/types";
import { invalidate } from "../../state/resource";
import { attempt, toast } from "../../state/toasts";
import { Button, Notice } from "../../ui/parts";

const LOOK_EVERY_MS = 1500;

export interface Wish {
  app: string;
  name?: string;
  account_id?: string;
}

interface Connecting {
  begin: (wish: Wish) => Promise<void>;
  /** What is waited for; none when nothing is. */
  wish: ConnectWish | undefined;
  giveUp: () => void;
}

/** `done` is told which account was connected. */
export function useConnecting(done?: (accountId: string) => void): Connecting {
  const [wish, setWish] = useState<ConnectWish | undefined>(undefined);
  const latest = useRef(done);
  latest.current = done;
  useEffect(() => {
    if (!wish) return undefined;
    let isOver = false;
    const look = async () => {
      try {
        const now = await get<ConnectWish>(`/connects/${wish.id}`);
        if (isOver) return;
        if (now.state === "connected" && now.account_id) {
          setWish(undefined);
          invalidate("/users/me/accounts", "/sources/");
          toast("The account is connected");
          latest.current?.(now.account_id);
        } else if (now.error?.code === "expired") {
          setWish(undefined);
          toast("The link has ended; begin again.", "bad");
        } else if (now.error?.message !== wish.error?.message) {
          // It can be tried again with the same link.
          setWish({ ...now, url: wish.url });
        }
      } catch (failed) {
        if (isOver || (failed instanceof ApiError && failed.status === 0)) return;
        setWish(undefined);
        toast(failed instanceof ApiError && failed.status === 404 ? "The link has ended; begin again." : messageOf(failed), "bad");
      }
    };
    const timer = setInterval(() => void look(), LOOK_EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [wish]);
  return {
    wish,
    begin: async (asked) => {
      const begun = await send<ConnectWish>("POST", "/connects", { ...asked });
      setWish(begun);
      window.open(begun.url, "_blank", "noopener");
    },
    giveUp: () => {
      if (wish) void attempt(undefined, () => send("DELETE", `/connects/${wish.id}`));
      setWish(undefined);
    },
  };
}

/** Says that a page is open elsewhere, and what came of it so far. */
export function WaitingFor({ connecting }: { connecting: Connecting }) {
  const { wish, giveUp } = connecting;
  if (!wish) return null;
  return (
    <Notice tone={wish.error ? "bad" : "plain"} icon={wish.error ? "alert" : "external"}>
      {wish.error ? `${wish.error.message} ` : "A page beside this one leads through it. "}
      <a class="link" href={wish.url} target="_blank" rel="noopener noreferrer">
        {wish.error ? "Try again" : "Open it again"}
      </a>{" "}
      <Button isLittle onClick={giveUp}>
        Give up
      </Button>
    </Notice>
  );
}
