//! The outcome of a run, as data. Nothing of it has an effect yet, except calls of [`Services`](crate::Services).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::limits::LimitKind;
use crate::tape::Recording;

/// Everything one run did, also when it failed half-way.
#[derive(Debug, Default)]
pub struct Outcome {
    /// JSON of what the call returned; `None` when it failed.
    pub returned: Option<Box<RawValue>>,
    pub emits: Vec<Emit>,
    /// Writes that were not flushed before an outbound request; in order, the last one of a key counts.
    pub writes: Vec<Write>,
    pub logs: Vec<LogLine>,
    pub effects: Vec<Effect>,
    pub has_replied: bool,
    /// What the host answered, when that was to be recorded.
    pub recording: Option<Recording>,
    pub usage: Usage,
    pub fault: Option<Fault>,
}

#[derive(Debug, Clone)]
pub struct Emit {
    pub event: Box<RawValue>,
    pub metadata: EmitMetadata,
}

/// The second argument of `$emit`, as far as it has a meaning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EmitMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_ts: Option<f64>,
}

/// A key of the source's store with its new JSON text, or none when it is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub key: String,
    pub value: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    pub at_ms: u64,
    pub level: Level,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// What an action asked for with `$`.
#[derive(Debug, Clone)]
pub struct Effect {
    pub kind: EffectKind,
    pub parameters: Box<RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// What a run cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Usage {
    pub fuel: u64,
    /// Time on a CPU, waiting excluded.
    pub cpu: Duration,
    pub wall_clock: Duration,
    pub peak_memory_bytes: usize,
}

impl Usage {
    /// That of two stretches of work, one after the other.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            fuel: self.fuel.saturating_add(other.fuel),
            cpu: self.cpu + other.cpu,
            wall_clock: self.wall_clock + other.wall_clock,
            peak_memory_bytes: self.peak_memory_bytes.max(other.peak_memory_bytes),
        }
    }
}

/// Why a run did not end well.
#[derive(Debug, Clone, PartialEq)]
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
    TooMuchOutput {
        what: LimitKind,
        limit: usize,
    },
    /// A replayed run asked for something else than the recorded one.
    Diverged {
        asked: String,
        recorded: String,
    },
    /// The recording has no further answers: the recorded run was stopped here.
    RecordingEnded,
    /// The engine refused to go on; the component did something no script should be able to.
    Trap {
        reason: String,
    },
}

/// An uncaught exception. `file`, `line` and `column` point into the component's own source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
            Self::Diverged { .. } => "diverged",
            Self::RecordingEnded => "recording_ended",
            Self::Trap { .. } => "trap",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threw(thrown) => write!(f, "{}: {}", thrown.name, thrown.message),
            Self::OutOfFuel { limit } => {
                let seconds = *limit as f64 / 1e9;
                write!(
                    f,
                    "the run used its {limit} units of fuel, about {seconds} s of processor time, and was stopped: do less in one run"
                )
            }
            Self::Deadline { limit } => write!(f, "the run took longer than {} s and was stopped", limit.as_secs_f64()),
            Self::OutOfMemory { limit_bytes } => {
                write!(f, "the run needed more than {} MiB of memory and was stopped", limit_bytes >> 20)
            }
            Self::TooMuchOutput { what, limit } => {
                write!(f, "the run went over its limit of {limit} {what} and was stopped")
            }
            Self::Diverged { asked, recorded } => {
                write!(f, "the run asked for {asked}, and the recorded one for {recorded}")
            }
            Self::RecordingEnded => f.write_str("the recording ends here"),
            Self::Trap { reason } => write!(f, "the sandbox stopped the run: {reason}"),
        }
    }
}

// === impl Thrown ===

impl Thrown {
    pub(crate) fn stack_exhausted() -> Self {
        let message = "Maximum call stack size exceeded";
        Self {
            name: "RangeError".into(),
            message: message.into(),
            stack: format!("RangeError: {message}"),
            ..Self::default()
        }
    }

    /// From the JSON the guest reports errors in. Whatever it sends, something readable comes out.
    pub(crate) fn from_json(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|_| Self {
            name: "Error".into(),
            message: json.into(),
            ..Self::default()
        })
    }
}
