//! The outcome of a run, as data. The component's failure is part of it, never an error of ours.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Json;

/// Everything one run did, also when it failed half-way.
#[derive(Debug, Default)]
pub struct Outcome {
    /// JSON of what the call returned; `None` when it failed.
    pub returned: Option<Box<RawValue>>,
    pub emits: Vec<Emit>,
    /// Writes that were made durable before a request left: they stay, however the run ends.
    pub flushed: Vec<Write>,
    /// Writes that were not flushed before an outbound request; in order, the last one of a key counts.
    pub writes: Vec<Write>,
    pub logs: Vec<LogLine>,
    pub effects: Vec<Effect>,
    pub has_replied: bool,
    pub traffic: Traffic,
    /// What the host answered, when that was to be recorded.
    pub recording: Option<Recorded>,
    pub usage: Usage,
    pub fault: Option<Fault>,
}

/// One call of `$emit`: the event, and `{id, name, summary, ts, delivery_ts}` as given.
#[derive(Clone, Debug)]
pub struct Emit {
    pub event: Json,
    pub metadata: serde_json::Value,
}

/// A key of the source's store with its new JSON text, or none when it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub key: String,
    pub value: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub at_ms: u64,
    pub level: Level,
    pub message: String,
}

/// Recordings have the number of a level: a new one comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// What an action asked for with `$`.
#[derive(Clone, Debug)]
pub struct Effect {
    pub kind: EffectKind,
    /// As the guest sends them: `{name, value}` of an export, `{reason}` of an exit, the argument of a `send`.
    pub parameters: Box<RawValue>,
}

/// Recordings have the number of a kind: a new one comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectKind {
    Export,
    Respond,
    Exit,
    SendHttp,
    SendEmail,
    SendS3,
    SendEmit,
    SendSse,
}

/// The answers of the host that a run can be repeated with; bytes in the sandbox's own format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    Kept(Vec<u8>),
    /// There were more than are kept.
    Truncated,
}

/// The requests a run made, without their bodies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub requests_made: usize,
    /// The first of them, in the order they were started.
    pub requests: Vec<RequestMade>,
}

/// One request, without query and headers: they may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestMade {
    pub method: String,
    pub host: String,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Until the head of the answer, or the failure.
    pub ms: u64,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub fuel: u64,
    /// Time on a CPU, waiting excluded.
    pub cpu: Duration,
    pub wall_clock: Duration,
    pub peak_memory_bytes: usize,
}

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The component's own exception.
    Threw(Thrown),
    OutOfFuel {
        limit: u64,
    },
    Deadline {
        limit: Duration,
    },
    OutOfMemory {
        limit_bytes: usize,
    },
    /// `what` names the limit, worded to follow a number: "events emitted in one run".
    TooMuchOutput {
        what: String,
        limit: usize,
    },
    /// An app prop names an account that was deleted since: nothing was run.
    NoAccount {
        prop: String,
        account: String,
    },
    /// The account of an app prop has to be connected again: nothing was run.
    DeadAccount {
        prop: String,
        account: String,
        reason: String,
    },
    /// The token of an account has expired, and its provider gave no other one: nothing was run.
    AccountUnavailable {
        prop: String,
        account: String,
        reason: String,
    },
    /// A replayed run asked for something else than the recorded one.
    Diverged {
        asked: String,
        recorded: String,
    },
    /// The recording has no further answers: the recorded run was stopped here.
    RecordingEnded,
    /// The engine refused to go on.
    Trap {
        reason: String,
    },
}

/// An uncaught exception. `file`, `line` and `column` point into the component's own source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thrown {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub stack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// `error.cause`. The stack of the outermost error shows the causes as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Thrown>>,
}

// === impl Outcome ===

impl Outcome {
    /// Of a run that did not begin.
    pub fn failed(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// All that it wrote, in the order in which keys were first written, with the last value of each.
    pub fn written(&self) -> Vec<&Write> {
        if self.flushed.is_empty() {
            return self.writes.iter().collect();
        }
        let (mut places, mut written) = (HashMap::new(), Vec::new());
        for write in self.flushed.iter().chain(&self.writes) {
            let place = *places.entry(write.key.as_str()).or_insert(written.len());
            match written.get_mut(place) {
                Some(earlier) => *earlier = write,
                None => written.push(write),
            }
        }
        written
    }
}

// === impl Usage ===

impl Usage {
    /// What is counted against a quota: CPU time in milliseconds, a begun one as a whole.
    pub fn compute_ms(&self) -> u64 {
        u64::try_from(self.cpu.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
    }

    /// One after the other.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            fuel: self.fuel.saturating_add(other.fuel),
            cpu: self.cpu.saturating_add(other.cpu),
            wall_clock: self.wall_clock.saturating_add(other.wall_clock),
            peak_memory_bytes: self.peak_memory_bytes.max(other.peak_memory_bytes),
        }
    }
}

// === impl Fault ===

impl Fault {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Threw(_) => "threw",
            Self::OutOfFuel { .. } => "out_of_fuel",
            Self::Deadline { .. } => "deadline",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::TooMuchOutput { .. } => "too_much_output",
            Self::NoAccount { .. } => "account_not_found",
            Self::DeadAccount { .. } => "account_disconnected",
            Self::AccountUnavailable { .. } => "account_unavailable",
            Self::Diverged { .. } => "diverged",
            Self::RecordingEnded => "recording_ended",
            Self::Trap { .. } => "trap",
        }
    }

    /// The message of an exception, which its name goes with, or why the platform stopped the run.
    pub fn message(&self) -> Cow<'_, str> {
        self.thrown().map_or_else(|| self.to_string().into(), |thrown| thrown.message.as_str().into())
    }

    /// The stack of an exception; empty for what the platform stopped.
    pub fn stack(&self) -> &str {
        self.thrown().map_or("", |thrown| &thrown.stack)
    }

    /// The component's own exception, unless the platform stopped the run.
    pub fn thrown(&self) -> Option<&Thrown> {
        match self {
            Self::Threw(thrown) => Some(thrown),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threw(thrown) => write!(formatter, "{}: {}", thrown.name, thrown.message),
            Self::OutOfFuel { limit } => {
                // A thousand million are roughly a second (measured by the sandbox's bench).
                let seconds = *limit as f64 / 1e9;
                write!(
                    formatter,
                    "the run used its {limit} units of fuel, about {seconds} s of processor time, and was stopped: do less in one run; \
                     the operator can raise `--fuel-per-run`"
                )
            }
            Self::Deadline { limit } => {
                write!(formatter, "the run took longer than {} s and was stopped", limit.as_secs_f64())
            }
            Self::OutOfMemory { limit_bytes } => {
                write!(formatter, "the run needed more than {} MiB of memory and was stopped", limit_bytes >> 20)
            }
            Self::TooMuchOutput { what, limit } => {
                write!(formatter, "the run went over its limit of {limit} {what} and was stopped")
            }
            Self::NoAccount { prop, account } => write!(
                formatter,
                "the account `{account}` of the prop `{prop}` was deleted: connect another one and set `{prop}` to it"
            ),
            Self::DeadAccount { prop, account, reason } => write!(
                formatter,
                "the account `{account}` of the prop `{prop}` does not work any more: {reason}. Connect it again: \
                 wellspring accounts reconnect {account}"
            ),
            Self::AccountUnavailable { prop, account, reason } => write!(
                formatter,
                "the token of the account `{account}` of the prop `{prop}` has expired and could not be refreshed: {reason}"
            ),
            Self::Diverged { asked, recorded } => {
                write!(formatter, "the run asked for {asked}, and the recorded one for {recorded}")
            }
            Self::RecordingEnded => formatter.write_str("the recording ends here"),
            Self::Trap { reason } => write!(formatter, "the sandbox stopped the run: {reason}"),
        }
    }
}
