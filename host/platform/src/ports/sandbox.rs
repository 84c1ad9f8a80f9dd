//! The sandbox: loads a program once, runs it many times, each time from the same image.

use std::sync::Arc;
use std::time::Duration;

use admission::Full;
use async_trait::async_trait;
use bytes::Bytes;
use domain::json::Json;
use domain::limits::Limits;
use domain::outcome::{LogLine, Outcome, Thrown, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Program, ProgramHandle, RunServices};

/// Obligations: nothing survives from one run to the next; what a component does wrong is in the [`Outcome`] (or in
/// the [`LoadFailure`]), `Err` means that the host failed; tenants take turns, so none delays another without bound.
#[async_trait]
pub trait Sandbox: Send + Sync {
    /// Evaluates a program and describes it. Bounded in time and memory like a run. What is kept of it counts for the tenant.
    async fn load(&self, tenant: &str, program: &Arc<Program>) -> Result<Load, SandboxError>;

    /// A program that nothing uses any more, by its digest: what was kept of it may go.
    fn discard(&self, digest: &str);

    /// Reads the program only when nothing is kept of it, or when the run requires more of it than is kept.
    async fn run(
        &self,
        program: &ProgramHandle,
        task: &Task,
        priority: Priority,
        services: Arc<dyn RunServices>,
    ) -> Result<Outcome, SandboxError>;

    /// What a recorded run asked its host, in order, as it may be shown: without credentials.
    fn calls(&self, recording: &Bytes) -> Vec<HostCall>;
}

/// One question of a run to its host, and the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostCall {
    /// `time`, `elapsed`, `random`, `db`, `credentials`, `request` or `response`.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub asked: String,
    pub answer: String,
}

/// What came of loading a component, and what that cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub result: Result<Loaded, LoadFailure>,
    pub usage: Usage,
}

/// A component that loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// `module.exports` as JSON, each function as `{"$fn": true}`.
    pub description: String,
    /// What it logged while it loaded.
    pub logs: Vec<LogLine>,
}

/// The component does not load; its author can act on it.
#[derive(Clone, Debug, Default, PartialEq, thiserror::Error)]
#[error("{name}: {message}")]
pub struct LoadFailure {
    pub name: String,
    pub message: String,
    pub stack: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub cause: Option<Box<Thrown>>,
}

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Task {
    /// Whose share of the runs it takes.
    pub tenant: String,
    /// JSON for `invoke` of `wit/component.wit`; see [`Call::to_json`].
    pub call: String,
    pub limits: RunLimits,
    /// Answers of an earlier run, given instead of the real ones.
    pub replay: Option<Replay>,
}

/// What an earlier run was answered, and how it is used.
#[derive(Clone, Debug)]
pub struct Replay {
    pub recording: Bytes,
    pub mode: ReplayMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// The same code: every answer in its order, and the first difference ends the run.
    Exact,
    /// Other code: answers are found by what is asked for.
    ByQuestion,
    /// The same, and what was not recorded is asked of the real services.
    Live,
}

/// When a run has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// Runs that are at work may wait for this one: it does not wait for them.
    Urgent,
}

/// What is called, and with what.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Run { event: Json },
    Hook { hook: domain::component::Hook },
    Action { steps: Json },
    Options { prop: String, page: u64, previous_context: Value, query: Option<String> },
}

/// The bounds of one run; those not here are the adapter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// About one per WebAssembly instruction.
    pub fuel: u64,
    pub wall_clock: Duration,
    pub memory_bytes: usize,
    pub emits: usize,
    pub event_bytes: usize,
    pub log_lines: usize,
    pub log_line_bytes: usize,
    pub log_bytes: usize,
    pub db_key_bytes: usize,
    pub db_value_bytes: usize,
    pub reply_bytes: usize,
    /// Of the recording that is made of a run; none when it is zero.
    pub recording_bytes: usize,
}

/// The host failed to run a component.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("{0}")]
    Overloaded(Full),
    /// What was to run could not be read.
    #[error(transparent)]
    Unread(Box<crate::Error>),
    #[error("the sandbox failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

// === impl Call ===

impl Call {
    /// The text the guest reads. `component_id` is the one thing `process.env` holds.
    pub fn to_json(&self, component_id: &str, props: &Map<String, Value>) -> String {
        let written = Written { call: self.named(), props, env: Environment { component_id } };
        // Texts, numbers and values that came from JSON always have a JSON form.
        serde_json::to_string(&written).unwrap_or_default()
    }

    fn named(&self) -> Named<'_> {
        match self {
            Self::Run { event } => Named::Run { event },
            Self::Hook { hook } => Named::Hook { hook: hook.as_str() },
            Self::Action { steps } => Named::Action { steps },
            Self::Options { prop, page, previous_context, query } => {
                Named::Options { prop, page: *page, previous_context, query: query.as_deref() }
            }
        }
    }
}

/// A call as the guest gets it. It is serialised once for each run, so it borrows everything.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    call: Named<'a>,
    props: &'a Map<String, Value>,
    env: Environment<'a>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Named<'a> {
    Run {
        event: &'a Json,
    },
    Hook {
        hook: &'a str,
    },
    Action {
        steps: &'a Json,
    },
    Options {
        prop: &'a str,
        page: u64,
        #[serde(rename = "prevContext")]
        previous_context: &'a Value,
        query: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct Environment<'a> {
    #[serde(rename = "PD_COMPONENT")]
    component_id: &'a str,
}

// === impl RunLimits ===

impl RunLimits {
    /// For a run that a client waits for, such as an HTTP request.
    pub fn interactive(limits: &Limits) -> Self {
        Self::with_deadline(limits, limits.http_deadline_ms)
    }

    /// For a timer's run, and for a hook.
    pub fn background(limits: &Limits) -> Self {
        Self::with_deadline(limits, limits.timer_deadline_ms)
    }

    fn with_deadline(limits: &Limits, deadline_ms: u64) -> Self {
        /// A thousand million units are roughly a second of CPU (measured by the sandbox's bench).
        const FUEL_PER_MS: u64 = 1_000_000;
        Self {
            fuel: limits.fuel_per_run.unwrap_or(deadline_ms.saturating_mul(FUEL_PER_MS)),
            wall_clock: Duration::from_millis(deadline_ms),
            memory_bytes: limits.memory_bytes,
            emits: limits.emits_per_run,
            event_bytes: limits.event_bytes,
            log_lines: limits.log_lines_per_run,
            log_line_bytes: limits.log_line_bytes,
            log_bytes: limits.log_bytes_per_run,
            db_key_bytes: limits.db_key_bytes,
            db_value_bytes: limits.db_value_bytes,
            reply_bytes: limits.response_bytes,
            recording_bytes: 0,
        }
    }
}

// === impl LoadFailure ===

impl From<Thrown> for LoadFailure {
    fn from(thrown: Thrown) -> Self {
        let Thrown { name, message, stack, file, line, column, cause, code: _ } = thrown;
        Self { name, message, stack, file, line, column, cause }
    }
}
