// The small parts that pages are made of.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { Link } from "../state/router";
import { clockTime, now, relative, wholeTime } from "../state/time";
import { toast } from "../state/toasts";
import { Icon, type IconName } from "./icon";

type ButtonProps = JSX.IntrinsicElements["button"] & {
  tone?: "primary" | "danger" | "bare";
  icon?: IconName;
  isLittle?: boolean;
  isStrong?: boolean;
  /** Shown to screen readers and as a tip, for a button of an icon alone. */
  says?: string;
};

export function Button({ tone, icon, isLittle, isStrong, says, children, ...rest }: ButtonProps) {
  const hasText = children !== undefined && children !== null && children !== false;
  const names = ["button", tone, isLittle && "little", isStrong && "primary", !hasText && "icon-only"].filter(Boolean).join(" ");
  return (
    <button type="button" {...rest} class={names} aria-label={says} title={says}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function ButtonLink({ to, tone, icon, children }: { to: string; tone?: "primary"; icon?: IconName; children: ComponentChildren }) {
  return (
    <Link to={to} class={`button ${tone ?? ""}`}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}

export type Tone = "good" | "bad" | "warn" | "accent" | "plain";

export function Badge({ tone = "plain", children, dot }: { tone?: Tone; children: ComponentChildren; dot?: boolean }) {
  return (
    <span class={`badge ${tone}`}>
      {dot && <span class={`dot ${tone}`} />}
      {children}
    </span>
  );
}

/** A moment, as time ago; the exact one is in its tip. */
export function Ago({ at_ms }: { at_ms: number }) {
  return (
    <time class="number" dateTime={new Date(at_ms).toISOString()} title={wholeTime(at_ms)}>
      {relative(at_ms, now.value)}
    </time>
  );
}

/** A moment, as the time of the clock. */
export function At({ at_ms, precise = false }: { at_ms: number; precise?: boolean }) {
  return (
    <time class="number" dateTime={new Date(at_ms).toISOString()} title={`${relative(at_ms, now.value)}\n${wholeTime(at_ms)}`}>
      {clockTime(at_ms, precise)}
    </time>
  );
}

export function Notice({ tone = "plain", icon = "info", children }: { tone?: Tone; icon?: IconName; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** What went wrong, and what to do about it. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <Icon name="alert" />
      <div>
        {error.message}
        {error.requestId && error.status >= 500 && <div class="tiny mono">request {error.requestId}</div>}
      </div>
      {retry && (
        <Button isLittle onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Empty({ icon, title, children, action }: { icon: IconName; title: string; children?: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** The shape of a list that is being read. */
export function Bones({ rows = 5 }: { rows?: number }) {
  return (
    <div class="lines" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div class="line" key={index}>
          <span class="bone" style={{ width: `${28 + ((index * 17) % 34)}%` }} />
          <span class="bone push" style={{ width: "64px" }} />
        </div>
      ))}
    </div>
  );
}

export function Card({ title, actions, children, footer, label }: { title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; footer?: ComponentChildren; label?: string }) {
  return (
    <section class="card" aria-label={label}>
      {(title || actions) && (
        <header>
          {typeof title === "string" ? <h2>{title}</h2> : title}
          {actions && <div class="row push">{actions}</div>}
        </header>
      )}
      {children}
      {footer && <footer>{footer}</footer>}
    </section>
  );
}

export function PageHead({ title, says, crumbs, actions, badge }: { title: ComponentChildren; says?: ComponentChildren; crumbs?: { to: string; text: string }[]; actions?: ComponentChildren; badge?: ComponentChildren }) {
  return (
    <div class="page-head">
      <div class="text">
        {crumbs && (
          <nav class="crumbs" aria-label="Where you are">
            {crumbs.map((crumb) => (
              <span class="row" key={crumb.to}>
                <Link to={crumb.to}>{crumb.text}</Link>
                <span aria-hidden="true">/</span>
              </span>
            ))}
          </nav>
        )}
        <div class="row wrap">
          <h1>{title}</h1>
          {badge}
        </div>
        {says && <div class="quiet small">{says}</div>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

export async function copy(text: string, what = "Copied"): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast("The browser did not allow copying.", "bad");
  }
}

export function CopyButton({ text, says = "Copy" }: { text: string | (() => string); says?: string }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return undefined;
    const timer = setTimeout(() => setDone(false), 1200);
    return () => clearTimeout(timer);
  }, [isDone]);
  return (
    <Button
      tone="bare"
      isLittle
      icon={isDone ? "check" : "copy"}
      says={says}
      onClick={(event) => {
        event.stopPropagation();
        void navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(() => setDone(true));
      }}
    />
  );
}

export function Copyable({ text, says }: { text: string; says?: string }) {
  return (
    <div class="copyable">
      <span class="cut" title={text}>
        {text}
      </span>
      <CopyButton text={text} says={says ?? "Copy"} />
    </div>
  );
}

export function Choices<T extends string>({ value, options, change, label }: { value: T; options: { value: T; text: string }[]; change: (value: T) => void; label: string }) {
  return (
    <div class="choices" role="group" aria-label={label}>
      {options.map((option) => (
        <button type="button" key={option.value} aria-pressed={option.value === value} onClick={() => change(option.value)}>
          {option.text}
        </button>
      ))}
    </div>
  );
}

export function Search({ value, change, label, placeholder }: { value: string; change: (value: string) => void; label: string; placeholder?: string }) {
  return (
    <div class="searching">
      <Icon name="search" />
      <input class="input" type="search" data-search aria-label={label} placeholder={placeholder ?? label} value={value} onInput={(event) => change(event.currentTarget.value)} />
    </div>
  );
}

export function Field({ label, hint, wrong, isOptional, children, id }: { label: string; hint?: ComponentChildren; wrong?: string; isOptional?: boolean; children: ComponentChildren; id: string }) {
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional && <span class="hint">optional</span>}
      </label>
      {children}
      {hint && <div class="hint">{hint}</div>}
      {wrong && (
        <div class="wrong" role="alert">
          {wrong}
        </div>
      )}
    </div>
  );
}

export function Tabs({ tabs, current }: { tabs: { to: string; text: string }[]; current: string }) {
  return (
    <nav class="tabs" aria-label="Views">
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} aria-current={tab.to === current ? "page" : undefined}>
          {tab.text}
        </Link>
      ))}
    </nav>
  );
}

/** Calls back when it comes into view: the end of a list that goes on. */
export function Sentinel({ seen }: { seen: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(seen);
  latest.current = seen;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && latest.current(), { rootMargin: "600px" });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return <div ref={element} />;
}
