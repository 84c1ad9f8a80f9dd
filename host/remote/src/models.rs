//! The API's responses, as far as commands read them. All other fields are kept, so that `--json` shows them.

mod replays;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use replays::{Difference, HostCall, Replay, Shadow};

/// What a newer server says beyond what this client knows.
type Rest = Map<String, Value>;

#[derive(Clone, Debug, Deserialize)]
pub struct Page<T> {
    pub page_info: PageInfo,
    pub data: Vec<T>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PageInfo {
    pub total_count: usize,
    pub count: usize,
    pub end_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub id: String,
    pub name: String,
    pub name_slug: String,
    pub active: bool,
    pub component_id: String,
    pub configured_props: Map<String, Value>,
    pub created_at: i64,
    pub updated_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Component {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub version: String,
    #[serde(rename = "type", default = "kind_of_old_servers")]
    pub kind: String,
    #[serde(default)]
    pub configurable_props: Vec<Prop>,
    pub created_at: i64,
    pub updated_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// One that a component declares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prop {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    #[serde(rename = "remoteOptions", default, skip_serializing_if = "is_false")]
    pub has_remote_options: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    pub options: Vec<Value>,
    #[serde(default)]
    pub context: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventSummary {
    pub id: String,
    pub indexed_at_ms: i64,
    pub event: Value,
    pub metadata: Metadata,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Metadata {
    pub emit_id: String,
    pub name: String,
    pub emitter_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A stream of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stream {
    pub name: String,
    /// Those that are kept.
    pub events: u64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub at_ms: i64,
    pub level: String,
    pub message: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subscription {
    pub id: String,
    pub emitter_id: String,
    pub listener_id: String,
    pub event_name: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Webhook {
    pub id: String,
    pub name: Option<String>,
    pub url: String,
    pub active: bool,
    /// Why deliveries switched it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inactive_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A delivery that was given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeadLetter {
    pub id: String,
    pub emitter: String,
    pub listener: String,
    pub event_name: String,
    pub attempts: u64,
    pub reason: String,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// What accounts can be connected to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    pub name_slug: String,
    pub name: String,
    pub auth_type: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub id: String,
    pub app: String,
    pub name: String,
    /// Absent on servers that do not refresh tokens.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// An account that is being connected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connect {
    pub id: String,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ConnectError>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectError {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountTest {
    pub ok: bool,
    pub message: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountUse {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    pub username: String,
    #[serde(flatten)]
    pub rest: Rest,
}

/// An API key, without the key itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    pub id: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Everything that the account may do, when absent.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    #[serde(default)]
    pub expires_at: Option<i64>,
    #[serde(default)]
    pub last_used_at: Option<i64>,
    pub created_at: i64,
    /// Whether the request was made with it.
    #[serde(default)]
    pub current: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

/// One line of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: String,
    pub at_ms: i64,
    pub user_id: Option<String>,
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    pub action: String,
    #[serde(default)]
    pub ids: BTreeMap<String, String>,
    pub from: Option<String>,
    pub status: u16,
    #[serde(flatten)]
    pub rest: Rest,
}

/// How a run by hand went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub ok: bool,
    #[serde(default)]
    pub emitted: Vec<EventSummary>,
    pub error: Option<Value>,
    /// What it gave to `respond`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// What an action gave to `$.flow.exit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// What an action gave to `$.send`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<Send>,
    #[serde(default)]
    pub logs: Vec<LogLine>,
    pub duration_ms: u64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    pub status: u16,
    #[serde(default)]
    pub headers: Map<String, Value>,
    #[serde(default)]
    pub body: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_base64: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exit {
    pub reason: Option<String>,
}

/// One call of `$.send`, and how it went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Send {
    pub kind: String,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A version of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceVersion {
    pub version: u32,
    pub current: bool,
    pub component_name: String,
    pub component_version: String,
    pub digest: String,
    pub configured_props: Map<String, Value>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// What an update would change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Preview {
    pub version: u32,
    pub changes: Vec<PreviewedChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviewedChange {
    pub what: String,
    #[serde(default)]
    pub before: Value,
    #[serde(default)]
    pub after: Value,
}

// === impl Source ===

impl Source {
    /// Counts what was replaced; 1 at servers that keep no versions.
    pub fn version(&self) -> u64 {
        self.rest.get("version").and_then(Value::as_u64).unwrap_or(1)
    }

    pub fn component_key(&self) -> Option<&str> {
        self.rest.get("component_key").and_then(Value::as_str)
    }

    pub fn component_name(&self) -> Option<&str> {
        self.rest.get("component_name").and_then(Value::as_str)
    }

    /// The folder it was applied from, or `dev`.
    pub fn project(&self) -> Option<&str> {
        self.rest.get("project").and_then(Value::as_str)
    }

    /// Where its HTTP interface listens, when it has one: the first of them.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoints().next().map(|(_, url)| url)
    }

    /// Where each HTTP interface listens, by its prop.
    pub fn endpoints(&self) -> impl Iterator<Item = (&str, &str)> {
        let url = |value| Value::get(value, "endpoint_url").and_then(Value::as_str);
        self.configured_props.iter().filter_map(move |(prop, value)| Some((prop.as_str(), url(value)?)))
    }
}

// === impl Workflow ===

impl Workflow {
    /// The folder it was applied from, or `dev`.
    pub fn project(&self) -> Option<&str> {
        self.rest.get("project").and_then(Value::as_str)
    }

    pub fn version(&self) -> u64 {
        self.rest.get("version").and_then(Value::as_u64).unwrap_or(1)
    }

    /// Where its HTTP triggers listen.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        let triggers = self.rest.get("triggers").and_then(Value::as_array).into_iter().flatten();
        triggers.filter_map(|trigger| trigger.get("endpoint_url")?.as_str())
    }
}

// === impl Prop ===

impl Prop {
    pub fn label(&self) -> &str {
        self.label.as_deref().filter(|label| !label.is_empty()).unwrap_or(&self.name)
    }

    /// What the platform gives by itself.
    pub fn is_provided(&self) -> bool {
        matches!(self.kind.as_str(), "$.interface.http" | "$.service.db" | "$.interface.apphook")
    }

    /// It has to be given, and is not.
    pub fn is_missing(&self, given: &Map<String, Value>) -> bool {
        let has_to_be_given = !(self.is_provided() || self.optional || self.default.is_some());
        has_to_be_given && !given.contains_key(&self.name)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn kind_of_old_servers() -> String {
    "source".to_owned()
}

/// One run of a source, workflow or component.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: String,
    pub emitter_id: String,
    pub version: String,
    pub trigger: RunTrigger,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    pub state: String,
    pub queued_at_ms: i64,
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    pub fuel: u64,
    pub cpu_us: u64,
    pub peak_memory_bytes: u64,
    #[serde(default)]
    pub sent_bytes: u64,
    #[serde(default)]
    pub received_bytes: u64,
    #[serde(default)]
    pub requests: Listed<RequestMade>,
    #[serde(default)]
    pub emits: Listed<String>,
    #[serde(default)]
    pub writes: Listed<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunTrigger {
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The first of a list, and how many there were.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed<T> {
    pub count: usize,
    pub first: Vec<T>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestMade {
    pub method: String,
    pub host: String,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub ms: u64,
}

/// Why a run failed, and what caused that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFailure {
    pub name: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<RunFailure>>,
    #[serde(flatten)]
    pub rest: Rest,
}

// === impl RunRecord ===

impl RunRecord {
    pub fn duration_ms(&self) -> i64 {
        self.ended_at_ms.saturating_sub(self.started_at_ms)
    }
}

// === impl RunTrigger ===

impl RunTrigger {
    /// `timer every_minute`
    pub fn shown(&self) -> String {
        match &self.id {
            Some(id) => format!("{} {id}", self.kind),
            None => self.kind.clone(),
        }
    }
}

// === impl Listed ===

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}
