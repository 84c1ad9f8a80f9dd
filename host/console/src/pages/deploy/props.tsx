// A form out of the props that a component declares.

import { useEffect, useState } from "preact/hooks";
import { type ApiError, send } from "../../api/client";
import type { Account, Json, Prop } from "../../api/types";
import { usePage } from "../../state/resource";
import { may } from "../../state/session";
import { attempt } from "../../state/toasts";
import { Icon } from "../../ui/icon";
import { Button, Field } from "../../ui/parts";
import { useConnecting, WaitingFor } from "../accounts/connecting";
import { TimerField } from "./timer";

type Values = Record<string, Json>;

interface FormProps {
  componentId: string;
  props: Prop[];
  values: Values;
  change: (values: Values) => void;
  /** What the server said about a prop. */
  wrongs?: Record<string, string>;
  /** What is configured now; secrets of it are not shown. */
  kept?: Values;
}

/** What the form begins with: what is configured, or the defaults. Secrets that are kept are not sent again. */
export function valuesOf(props: Prop[], configured: Values = {}): Values {
  const values: Values = {};
  for (const prop of props) {
    const known = configured[prop.name];
    if (prop.secret && known !== undefined) continue;
    if (prop.type === "$.interface.http" || prop.type.startsWith("$.service.")) continue;
    if (prop.type === "$.interface.timer") {
      const timer = (known ?? prop.default) as { cron?: string | null; interval_seconds?: number; intervalSeconds?: number } | undefined;
      if (timer?.cron) values[prop.name] = { cron: timer.cron };
      else values[prop.name] = { intervalSeconds: timer?.interval_seconds ?? timer?.intervalSeconds ?? 900 };
    } else if (known !== undefined) values[prop.name] = known;
    else if (prop.default !== undefined) values[prop.name] = prop.default;
  }
  return values;
}

export function wrongsOf(error: ApiError | undefined): Record<string, string> {
  const problems = (error?.details?.["problems"] ?? []) as { path?: string; message?: string }[];
  const found: Record<string, string> = {};
  if (Array.isArray(problems)) for (const problem of problems) if (problem.path) found[problem.path.replace(/^(configured_)?props\./, "").split(".")[0] ?? ""] = problem.message ?? "";
  return found;
}

export function PropsForm({ componentId, props, values, change, wrongs = {}, kept = {} }: FormProps) {
  const shown = props.filter((prop) => !prop.type.startsWith("$.service."));
  if (shown.length === 0) return <p class="small quiet">This component has nothing to configure.</p>;
  const set = (name: string, value: Json | undefined) => {
    const next = { ...values };
    if (value === undefined) delete next[name];
    else next[name] = value;
    change(next);
  };
  return (
    <>
      {shown.map((prop) => (
        <PropField key={prop.name} prop={prop} value={values[prop.name]} set={(value) => set(prop.name, value)} wrong={wrongs[prop.name]} isKept={kept[prop.name] !== undefined} componentId={componentId} values={values} />
      ))}
    </>
  );
}

interface FieldProps {
  prop: Prop;
  value: Json | undefined;
  set: (value: Json | undefined) => void;
  wrong: string | undefined;
  isKept: boolean;
  componentId: string;
  values: Values;
}

function PropField(field: FieldProps) {
  const { prop, value, set, wrong, isKept } = field;
  const id = `prop-${prop.name}`;
  const label = prop.label ?? prop.name;
  if (prop.type === "$.interface.http") {
    return (
      <div class="notice">
        <Icon name="globe" />
        <div>
          <span class="strong">{label}</span>
          <div class="small quiet">Gets an address of its own that triggers the source.</div>
        </div>
      </div>
    );
  }
  if (prop.type === "$.interface.timer") return <TimerField id={id} label={label} hint={prop.description} value={value} set={set} wrong={wrong} />;
  if (prop.type === "boolean") {
    return (
      <div class="field">
        <label class="check" for={id}>
          <input id={id} type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
          {label}
        </label>
        {prop.description && <div class="hint">{prop.description}</div>}
        {wrong && <div class="wrong">{wrong}</div>}
      </div>
    );
  }
  return (
    <Field id={id} label={label} hint={prop.description} wrong={wrong} isOptional={prop.optional}>
      <Control {...field} id={id} placeholder={prop.secret && isKept ? "unchanged" : undefined} />
    </Field>
  );
}

function Control({ id, prop, value, set, placeholder, componentId, values }: FieldProps & { id: string; placeholder?: string }) {
  if (prop.type === "app") return <AccountControl id={id} prop={prop} value={value} set={set} />;
  if (prop.remoteOptions) return <RemoteControl id={id} prop={prop} value={value} set={set} componentId={componentId} values={values} />;
  if (prop.options && !prop.type.endsWith("[]")) return <OptionControl id={id} options={prop.options} value={value} set={set} isOptional={prop.optional} />;
  if (prop.type === "integer" || prop.type === "number") {
    return (
      <input
        id={id}
        class="input number"
        type="number"
        step={prop.type === "integer" ? 1 : "any"}
        min={prop.min}
        max={prop.max}
        value={typeof value === "number" ? value : ""}
        onInput={(event) => set(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))}
      />
    );
  }
  if (prop.type === "string") {
    const common = { id, class: "input", autocomplete: "off", placeholder, value: typeof value === "string" ? value : "" } as const;
    const take = (text: string) => set(text === "" ? undefined : text);
    if (prop.secret) return <input {...common} type="password" onInput={(event) => take(event.currentTarget.value)} />;
    return <input {...common} type="text" onInput={(event) => take(event.currentTarget.value)} />;
  }
  if (prop.type === "string[]") {
    const lines = Array.isArray(value) ? value.join("\n") : "";
    return <textarea id={id} class="input" placeholder="One on each line" value={lines} onInput={(event) => set(event.currentTarget.value === "" ? undefined : event.currentTarget.value.split("\n"))} />;
  }
  return <JsonControl id={id} value={value} set={set} />;
}

function JsonControl({ id, value, set }: { id: string; value: Json | undefined; set: (value: Json | undefined) => void }) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [isWrong, setWrong] = useState(false);
  return (
    <>
      <textarea
        id={id}
        class="input mono"
        placeholder="JSON"
        value={text}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          try {
            set(next.trim() === "" ? undefined : (JSON.parse(next) as Json));
            setWrong(false);
          } catch {
            setWrong(true);
          }
        }}
      />
      {isWrong && <div class="wrong">This is not valid JSON yet.</div>}
    </>
  );
}

/** Labels of options that are values, or objects with a label. */
function labelled(options: Json[]): { label: string; value: Json }[] {
  return options.map((option) => {
    if (typeof option === "object" && option !== null && !Array.isArray(option) && "value" in option) return { label: String(option["label"] ?? option["value"]), value: option["value"] as Json };
    return { label: String(option), value: option };
  });
}

function OptionControl({ id, options, value, set, isOptional }: { id: string; options: Json[]; value: Json | undefined; set: (value: Json | undefined) => void; isOptional?: boolean }) {
  const known = labelled(options);
  const at = known.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(plain(value)));
  return (
    <select id={id} class="input" value={at < 0 ? "" : String(at)} onChange={(event) => set(event.currentTarget.value === "" ? undefined : known[Number(event.currentTarget.value)]?.value)}>
      {(isOptional || at < 0) && <option value="">Choose…</option>}
      {known.map((option, index) => (
        <option key={index} value={String(index)}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

function plain(value: Json | undefined): Json | undefined {
  const wrapped = value as { __lv?: { value: Json } } | undefined;
  return typeof value === "object" && value !== null && wrapped?.__lv ? wrapped.__lv.value : value;
}

/** Options that the component itself finds, such as the channels of an account. */
function RemoteControl({ id, prop, value, set, componentId, values }: { id: string; prop: Prop; value: Json | undefined; set: (value: Json | undefined) => void; componentId: string; values: Values }) {
  const [options, setOptions] = useState<Json[] | undefined>(undefined);
  const [error, setError] = useState("");
  const load = async () => {
    setError("");
    try {
      const found = await send<{ options: Json[] }>("POST", `/components/${componentId}/options`, { prop: prop.name, configured_props: values as Json, page: 0 });
      setOptions(found.options);
    } catch (failed) {
      setError((failed as ApiError).message);
    }
  };
  const others = JSON.stringify({ ...values, [prop.name]: null });
  useEffect(() => {
    const timer = setTimeout(() => void load(), 400);
    return () => clearTimeout(timer);
  }, [componentId, others]);
  return (
    <>
      {options ? (
        <OptionControl id={id} options={options} value={value} set={set} isOptional />
      ) : (
        <select id={id} class="input" disabled>
          <option>{error ? "Not available" : "Asking the component…"}</option>
        </select>
      )}
      {error && (
        <div class="wrong row">
          <span>{error}</span>
          <Button isLittle onClick={() => void load()}>
            Try again
          </Button>
        </div>
      )}
    </>
  );
}

function AccountControl({ id, prop, value, set }: { id: string; prop: Prop; value: Json | undefined; set: (value: Json | undefined) => void }) {
  const accounts = usePage<Account>("/users/me/accounts?limit=100");
  const connecting = useConnecting((account) => set({ authProvisionId: account }));
  const fitting = (accounts.data?.data ?? []).filter((account) => account.app === prop.app);
  const { authProvisionId: chosen = "", auth } = (value as { authProvisionId?: string; auth?: string } | undefined) ?? {};
  const choose = (account: string, isProxy: boolean) => set(account === "" ? undefined : { authProvisionId: account, ...(isProxy ? { auth: "proxy" } : {}) });
  return (
    <>
      <select id={id} class="input" value={chosen} onChange={(event) => choose(event.currentTarget.value, auth === "proxy")}>
        <option value="">{fitting.length === 0 ? `No account of ${prop.app} is connected` : "Choose an account…"}</option>
        {fitting.map((account) => (
          <option key={account.id} value={account.id}>
            {account.name}
            {account.state === "disconnected" ? " (disconnected)" : ""}
          </option>
        ))}
      </select>
      {chosen !== "" && (
        <label class="check small">
          <input type="checkbox" checked={auth === "proxy"} onChange={(event) => choose(chosen, event.currentTarget.checked)} />
          Keep the credentials outside of the component: the server adds them to its requests
        </label>
      )}
      {connecting.wish ? (
        <WaitingFor connecting={connecting} />
      ) : (
        may("write") && (
          <div class="hint">
            <button type="button" class="link" onClick={() => void attempt(undefined, () => connecting.begin({ app: prop.app ?? "" }))}>
              Connect {fitting.length === 0 ? "an account" : "another account"}
            </button>
          </div>
        )
      )}
    </>
  );
}
