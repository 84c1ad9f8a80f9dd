// Dialogs: the browser's own, with its focus trap and its Escape.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api/client";
import { Button, Notice } from "./parts";

interface DialogProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
  foot?: ComponentChildren;
}

export function Dialog({ title, close, children, foot }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === element.current) close();
      }}
    >
      <div class="head">
        <h2>{title}</h2>
        <span class="push" />
        <Button tone="bare" icon="close" says="Close" onClick={close} />
      </div>
      <div class="content">{children}</div>
      {foot && <div class="foot">{foot}</div>}
    </dialog>
  );
}

/** A form in a dialog: it stays open, and says why, when the change fails. */
export function FormDialog({ title, close, submit, action, isDanger, children, isReady = true }: Omit<DialogProps, "foot"> & { submit: () => Promise<unknown>; action: string; isDanger?: boolean; isReady?: boolean }) {
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    setError("");
    try {
      await submit();
      close();
    } catch (failed) {
      setError(messageOf(failed));
      setBusy(false);
    }
  };
  const id = `form-${title.replace(/\W+/g, "-")}`;
  return (
    <Dialog
      title={title}
      close={close}
      foot={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" form={id} tone={isDanger ? "danger" : "primary"} isStrong={isDanger} disabled={isBusy || !isReady}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        {children}
        {error && (
          <Notice tone="bad" icon="alert">
            {error}
          </Notice>
        )}
      </form>
    </Dialog>
  );
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, says, action, act, close }: { title: string; says: ComponentChildren; action: string; act: () => Promise<unknown>; close: () => void }) {
  return (
    <FormDialog title={title} close={close} submit={act} action={action} isDanger>
      <p class="quiet small">{says}</p>
    </FormDialog>
  );
}
