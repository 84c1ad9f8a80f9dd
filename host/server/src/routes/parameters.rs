//! The parameters that routes share.

use crate::route::ParameterKind::{Any, Boolean, Integer, Limit, List, Object, OneOf, Pattern, Scopes, Text, Texts};
use crate::route::{Parameter, optional, required};

const COMPONENT_ID: &str = "^sc_[0-9A-Za-z]{12}$";
const LISTENER_ID: &str = "^(dc|p|wh)_[0-9A-Za-z]{12}$";
const EMITTER_ID: &str = "^(dc_\\*|p_\\*|(dc|p)_[0-9A-Za-z]{12})$";
const URL: &str = "^https?://[^/?#\\\\\\s]+";
/// An own channel, or one of the platform's streams.
const EVENT_NAME: &str = "^(\\$errors|\\$logs|\\$runs|[^$][\\s\\S]{0,127})$";
/// The same without records of runs, which cannot be subscribed to.
const SUBSCRIBED_NAME: &str = "^(\\$errors|\\$logs|[^$][\\s\\S]{0,127})$";
const EVENT_ID: &str = "^(0|[1-9][0-9]*)-(0|[1-9][0-9]*)$";

const PAGE_SIZE: Parameter = optional("limit", Limit, "How many, 1 to 100; 10 when absent");
const AFTER: Parameter = optional("after", Pattern("^[0-9A-Za-z_-]+$"), "A cursor: what comes after it in the list");
const BEFORE: Parameter = optional("before", Pattern("^[0-9A-Za-z_-]+$"), "A cursor: what comes before it in the list");
const AFTER_EVENT: Parameter = optional("after", Pattern(EVENT_ID), "An event id: events older than it");
const BEFORE_EVENT: Parameter = optional("before", Pattern(EVENT_ID), "An event id: events newer than it");
const EVENT_NAME_OF: Parameter =
    optional("event_name", Pattern(EVENT_NAME), "A stream: `default`, `$errors`, `$logs`, `$runs` or a channel");
pub(super) const IGNORE_HOOK_ERRORS: Parameter =
    optional("ignore_hook_errors", Boolean, "Go on when the deactivate hook fails");

const CODE_TEXT: Parameter = optional("component_code", Text, "The code of the component");
const CODE_URL: Parameter =
    optional("component_url", Pattern(URL), "Where the code lives; fetched when there is no code");
const FILES: Parameter = optional("component_files", Texts, "Further files by their path from the entry's folder");
const FILENAME: Parameter =
    optional("filename", Pattern("\\.(js|mjs|cjs|ts|mts|cts|json)$"), "Tells `.mjs` or `.ts` from `.js`");
const ID: Parameter = optional("component_id", Pattern(COMPONENT_ID), "A saved component; preferred over the others");
const REGISTRY_KEY: Parameter = optional("key", Text, "The key of a component of the registry");
const SOURCE_NAME: Parameter = optional("name", Text, "The slug of the component when absent");
const NEW_NAME: Parameter = optional("name", Text, "The source keeps its name when absent");
const AUTH: Parameter = optional(
    "auth",
    OneOf(&["token", "proxy"]),
    "How the accounts in `configured_props` are used: `proxy` keeps their tokens out of the sandbox",
);
const PROPS: Parameter = optional("configured_props", Object, "Values of the props, by name");

pub(super) const PAGING: [Parameter; 3] = [PAGE_SIZE, AFTER, BEFORE];
pub(super) const SUMMARIES: [Parameter; 2] = [AFTER, BEFORE];
pub(super) const EVENT_PAGING: [Parameter; 3] = [PAGE_SIZE, AFTER_EVENT, BEFORE_EVENT];
const EXPAND: Parameter = optional("expand", OneOf(&["event"]), "`event` returns events whole, however large");
pub(super) const EVENTS: [Parameter; 5] = [PAGE_SIZE, AFTER_EVENT, BEFORE_EVENT, EXPAND, EVENT_NAME_OF];
pub(super) const EVENTS_OF_ONE_STREAM: [Parameter; 4] = [PAGE_SIZE, AFTER_EVENT, BEFORE_EVENT, EXPAND];
pub(super) const KEYS: [Parameter; 2] = [PAGE_SIZE, optional("after", Text, "A key: those that follow it")];
/// For keys that clients drop from a path.
pub(super) const KEY: Parameter =
    required("key", Text, "The key, also one that a path cannot hold: `.`, `..` or an empty one").or_empty();
pub(super) const VALUE: [Parameter; 1] = [required("value", Any, "Any JSON")];
pub(super) const DATA_STORE: [Parameter; 1] = [required("name", Text, "A name of its own: at most 100 bytes")];
pub(super) const RECORD: [Parameter; 2] = [
    required("value", Any, "Any JSON"),
    optional("ttl_seconds", Integer, "After so many seconds it is gone, at most 31622400; without it, it stays"),
];
pub(super) const REPLAY: [Parameter; 6] = [
    CODE_TEXT,
    CODE_URL,
    FILES,
    FILENAME,
    optional("live", Boolean, "Ask the real services for what was not recorded"),
    optional("calls", Boolean, "Answer also with what the recorded run asked its host, in order"),
];
pub(super) const SHADOW: [Parameter; 5] =
    [CODE_TEXT, CODE_URL, FILES, FILENAME, optional("runs", Integer, "How many, 200 at most; 20 when absent")];
pub(super) const RECORDING: [Parameter; 5] = [
    optional(
        "mode",
        Pattern("^(off|errors|all|1/[1-9][0-9]{0,8})$"),
        "`off`, `errors`, `all`, or errors and one in many of the others: `1/100`",
    ),
    optional(
        "keep_runs",
        Integer,
        "How many records of runs are kept, at most 10000; 0 keeps none and deletes those there are",
    ),
    optional("keep_runs_for_seconds", Integer, "How long they are kept; 0 is without an end"),
    optional("default_retention", Boolean, "Keep as many and as long as the server does again"),
    optional(
        "redact",
        List,
        "Paths that are not shown of the input and output of runs, as `body.password`; all of them, at most 32",
    ),
];
const AFTER_RUN: Parameter =
    optional("after", Pattern("^[0-9A-Za-z]{27}$"), "The id of a run: runs that began before it");
const BEFORE_RUN: Parameter =
    optional("before", Pattern("^[0-9A-Za-z]{27}$"), "The id of a run: runs that began after it");
pub(super) const RUNS: [Parameter; 7] = [
    PAGE_SIZE,
    AFTER_RUN,
    BEFORE_RUN,
    optional("state", OneOf(&["success", "error"]), "How they ended"),
    optional("trace_id", Pattern("^[0-9a-f]{32}$"), "Everything that one trigger from outside caused"),
    optional("since_ms", Integer, "Runs that began at this time or later, in milliseconds since 1970"),
    optional("until_ms", Integer, "Runs that began before this time"),
];
pub(super) const FOLLOWED: [Parameter; 1] = [EVENT_NAME_OF];
pub(super) const LAST_EVENT_ID: Parameter =
    optional("Last-Event-ID", Pattern(EVENT_ID), "Go on after this event, as far as events are kept");
pub(super) const EVENT_RANGE: [Parameter; 3] = [
    optional("start_id", Pattern(EVENT_ID), "The oldest event to delete; the first one when absent"),
    optional("end_id", Pattern(EVENT_ID), "The newest event to delete; the last one when absent"),
    EVENT_NAME_OF,
];
pub(super) const REDELIVERY: [Parameter; 2] = [
    optional("event_name", Pattern(SUBSCRIBED_NAME), "The stream that has the event; all channels when absent"),
    optional(
        "listener_id",
        Pattern(LISTENER_ID),
        "A source, workflow or webhook, whether it listens or not; everything that listens when absent",
    ),
];

pub(super) const CODE_NAMES: &[&str] = &["component_code", "component_url"];
pub(super) const SOURCE_NAMES: &[&str] = &["component_id", "component_code", "component_url", "key"];

pub(super) const CODE: [Parameter; 4] = [CODE_TEXT, CODE_URL, FILES, FILENAME];
pub(super) const NEW_COMPONENT: [Parameter; 5] = [
    CODE_TEXT,
    CODE_URL,
    FILES,
    FILENAME,
    optional(
        "temporary",
        Boolean,
        "Save it only to deploy it: it goes with its last source, when its deploy is refused, or unused after a day",
    ),
];
const PROJECT: Parameter =
    optional("project", Text, "The folder that `wellspring apply` makes it from, which may then update and delete it");
pub(super) const NEW_SOURCE: [Parameter; 10] =
    [ID, CODE_TEXT, CODE_URL, FILES, FILENAME, REGISTRY_KEY, SOURCE_NAME, PROPS, AUTH, PROJECT];
pub(super) const SOURCE_ROLLBACK: [Parameter; 3] = [
    optional("version", Integer, "The number of an earlier version; the last one when absent"),
    optional("keep_props", Boolean, "Go back to the code alone"),
    IGNORE_HOOK_ERRORS,
];
pub(super) const CHANGED_SOURCE: [Parameter; 12] = [
    ID,
    CODE_TEXT,
    CODE_URL,
    FILES,
    FILENAME,
    REGISTRY_KEY,
    NEW_NAME,
    PROPS,
    AUTH,
    optional("active", Boolean, "true when absent"),
    IGNORE_HOOK_ERRORS,
    PROJECT,
];
pub(super) const OPTIONS: [Parameter; 5] = [
    required("prop", Text, "The name of the prop"),
    PROPS,
    optional("page", Integer, "From 0"),
    optional("prevContext", Object, "The context of the previous page"),
    optional("query", Text, "What the user has typed so far"),
];
pub(super) const TRIAL: [Parameter; 2] =
    [PROPS, optional("event", Any, "What triggers the run: a request, a tick, any JSON")];
pub(super) const ACTION: [Parameter; 2] = [PROPS, optional("steps", Object, "What earlier steps returned")];

const LISTENER: Parameter = required("listener_id", Pattern(LISTENER_ID), "A source, workflow or webhook");
pub(super) const SUBSCRIPTION: [Parameter; 3] = [
    required("emitter_id", Pattern(EMITTER_ID), "A source or workflow, or `dc_*` or `p_*` for all of them"),
    optional("event_name", Pattern(SUBSCRIBED_NAME), "A stream; the default one when absent"),
    LISTENER,
];
/// Spec: "`event_name` is passed as an empty value when the subscription was created without one".
pub(super) const ENDED_SUBSCRIPTION: [Parameter; 3] = [
    required("emitter_id", Pattern(EMITTER_ID), "As it was given"),
    optional("event_name", Pattern(SUBSCRIBED_NAME), "As it was given; empty when none was").or_empty(),
    LISTENER,
];
pub(super) const AUTO_SUBSCRIPTION: [Parameter; 2] =
    [required("event_name", Pattern(SUBSCRIBED_NAME), "A stream"), LISTENER];

pub(super) const WEBHOOK: [Parameter; 3] = [
    required(
        "url",
        Pattern(URL),
        "http or https, with a hostname; refused when it is written as an address or port that is not delivered to",
    ),
    optional("name", Text, "For you to recognise it"),
    optional("description", Text, "For you to remember"),
];

pub(super) const CHANGED_WEBHOOK: [Parameter; 4] = [
    optional("url", Pattern(URL), "It stays when absent, like everything here"),
    optional("name", Text, "For you to recognise it"),
    optional("description", Text, "For you to remember"),
    optional("active", Boolean, "Whether events are delivered"),
];

pub(super) const PENDING: [Parameter; 1] =
    [optional("listener_id", Text, "Only deliveries to this webhook, source or workflow")];
pub(super) const ROTATED_SECRET: [Parameter; 1] =
    [optional("overlap_seconds", Integer, "At most 2592000, 0 for none; 86400 when absent")];

pub(super) const ACCOUNT: [Parameter; 3] = [
    required("app", Text, "The name slug of a registered app"),
    optional("name", Text, "The app's name when absent"),
    required("credentials", Texts, "What components see as `$auth`; never returned"),
];

pub(super) const FORCE: Parameter =
    optional("force", Boolean, "Delete it although it is in use: runs that need it then fail, and say so");

pub(super) const APP_EVENT_NAME: Parameter =
    optional("event_name", Text, "What happened; sources that declare `eventNames` get only theirs");

pub(super) const APP: [Parameter; 4] = [
    optional("name_slug", Pattern("^[a-z0-9_]{1,64}$"), "What components call it; that of the provider when absent"),
    optional("name", Text, "The slug when absent"),
    optional(
        "auth_type",
        OneOf(&["none", "keys", "oauth"]),
        "`keys` when absent; that of the provider when there is one",
    ),
    optional("provider", Object, "How its accounts are connected: a provider file, see `schemas/app.json`"),
];

pub(super) const CLIENT: [Parameter; 3] = [
    required("client_id", Text, "The id that the service gave"),
    optional("client_secret", Text, "Its secret, never returned; absent for a public client"),
    optional("scopes", List, "Asked for instead of those of the provider"),
];

pub(super) const ACCOUNT_NAME: [Parameter; 1] = [required("name", Text, "For you to recognise it")];

pub(super) const CONNECT: [Parameter; 6] = [
    required("app", Text, "The name slug of an app"),
    optional("name", Text, "The account's name; what the service calls it when absent"),
    optional(
        "account_id",
        Pattern("^apn_[0-9A-Za-z]{12}$"),
        "The account that gets new credentials; a new one when absent",
    ),
    optional("scopes", List, "Asked for instead of those of the client or the provider"),
    optional("device", Boolean, "Answer with a code that is typed in on another device, instead of a link"),
    optional("fields", Texts, "What the page would ask for, with `device`"),
];

pub(super) const NEW_KEY: [Parameter; 3] = [
    optional("name", Text, "For you to recognise it"),
    optional("scopes", Scopes, "What it may do; those of the key in use when absent. Each includes `read`"),
    optional("expires_at", Integer, "Epoch seconds; when the key in use expires when absent, which may be never"),
];
pub(super) const KEY_NAME: [Parameter; 1] = [optional("name", Text, "None when absent")];

pub(super) const AUDIT: [Parameter; 4] = [
    PAGE_SIZE,
    AFTER_EVENT,
    BEFORE_EVENT,
    optional(
        "user_id",
        Pattern("^u_[0-9A-Za-z]{12}$"),
        "Of this account alone: its own log, which other accounts do not shorten",
    ),
];

const ROLE: Parameter = optional("role", OneOf(&["admin", "member"]), "`member` when absent");
const COMPUTE: Parameter = optional("daily_compute_time_quota", Integer, "Milliseconds of CPU a day");
const INVOCATIONS: Parameter = optional("daily_invocations_quota", Integer, "Invocations a day");
pub(super) const NEW_USER: [Parameter; 5] =
    [required("username", Text, "Unique"), required("email", Pattern("@"), "Unique"), ROLE, COMPUTE, INVOCATIONS];
pub(super) const CHANGED_USER: [Parameter; 6] = [
    ROLE,
    optional("plan", OneOf(&["free", "paid"]), "`paid` needs the billing period"),
    COMPUTE,
    INVOCATIONS,
    optional("billing_period_start_ts", Integer, "Epoch seconds"),
    optional("billing_period_end_ts", Integer, "Epoch seconds"),
];

pub(super) const ROTATION: [Parameter; 1] =
    [optional("resume", Boolean, "Make no key: finish an earlier rotation, or wrap under a key that was given")];

/// Which account a browser uses.
pub(super) const CHOSEN_SESSION: [Parameter; 1] = [required("session_id", Text, "One of the sessions of the browser")];

const SETTINGS: Parameter = optional(
    "settings",
    Object,
    "`name`, `auto_deploy`, `concurrency`, `throttle`, `queue_size`, `auto_retry`, `timeout_seconds`, `retention`",
);
const TRIGGERS: Parameter =
    optional("triggers", Any, "A list of what starts runs, each with a `type`: `http`, `timer`, `source`, `component`");
const STEPS: Parameter = optional("steps", Any, "A list of steps, each with a `namespace`; see schemas/workflow.json");
const STARTS_RUNS: Parameter = optional("active", Boolean, "Whether its triggers start runs");
pub(super) const WORKFLOW: [Parameter; 5] = [SETTINGS, TRIGGERS, STEPS, STARTS_RUNS, PROJECT];
pub(super) const CHANGED_WORKFLOW: [Parameter; 5] = WORKFLOW;
pub(super) const ROLLBACK: [Parameter; 1] = [required("version", Integer, "The number of an earlier version")];
pub(super) const WORKFLOW_EVENT: [Parameter; 2] = [
    optional("event", Any, "What the steps find in `steps.trigger.event`"),
    optional("wait", Boolean, "Whether the answer waits for the run; true when absent"),
];
pub(super) const WORKFLOW_RUNS: [Parameter; 6] = [
    PAGE_SIZE,
    AFTER_RUN,
    BEFORE_RUN,
    optional(
        "state",
        OneOf(&["queued", "executing", "paused", "success", "error", "cancelled"]),
        "How they are, or how they ended",
    ),
    optional("since_ms", Integer, "Runs that were triggered at this time or later, in milliseconds since 1970"),
    optional("until_ms", Integer, "Runs that were triggered before this time"),
];
pub(super) const REPLAYED_RUN: [Parameter; 1] =
    [optional("same_version", Boolean, "On the version that the run went through, and not on the newest")];
