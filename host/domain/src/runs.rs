//! The record of one run: what it was, what it did, what it cost and how it ended.
//!
//! Small and bounded: it is written with every run. Lists are cut, and say how much there was.

use serde::{Deserialize, Serialize};

use crate::data_stores;
use crate::ids::RunId;
use crate::outcome::{Fault, Outcome, RequestMade, Thrown, Usage};
use crate::redact::Hidden;
use crate::trace::TraceId;

/// Entries of each list that are kept.
pub const LISTED_MAXIMUM: usize = 50;
/// Of one text that the component or its peers chose.
pub const TEXT_BYTES_MAXIMUM: usize = 2048;
/// Of one name: a key, a path.
pub const NAME_BYTES_MAXIMUM: usize = 256;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: RunId,
    /// `dc_…`, `sc_…` or `p_…`.
    pub emitter_id: String,
    /// Of the component.
    pub version: String,
    pub trigger: Trigger,
    #[serde(default, skip_serializing_if = "TraceId::is_none")]
    pub trace_id: TraceId,
    pub state: State,
    /// When it was triggered; the difference to its start is the time it waited.
    pub queued_at_ms: u64,
    pub started_at_ms: u64,
    pub ended_at_ms: u64,
    pub fuel: u64,
    pub cpu_us: u64,
    pub peak_memory_bytes: u64,
    /// Of requests it made: bodies, as they were given and read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub received_bytes: u64,
    #[serde(default, skip_serializing_if = "Listed::is_empty")]
    pub requests: Listed<RequestMade>,
    /// Ids of its events.
    #[serde(default, skip_serializing_if = "Listed::is_empty")]
    pub emits: Listed<String>,
    /// Keys of `db` that it wrote, and those of data stores: `<data store>/<key>`.
    #[serde(default, skip_serializing_if = "Listed::is_empty")]
    pub writes: Listed<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    #[serde(default, skip_serializing_if = "Recording::is_none")]
    pub recording: Recording,
}

/// The first entries of a list, and how many there were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed<Item> {
    pub count: usize,
    pub first: Vec<Item>,
}

/// What started a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    pub kind: TriggerKind,
    /// Of the event, the tick or the request; what it is depends on the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    Http,
    Timer,
    /// An event of another source or workflow, or of an app.
    Event,
    Manual,
    Hook,
    Options,
    /// The same event once more, asked for by hand.
    Retry,
    /// A run of a workflow; the id is that run's and the step's: `<run>/<namespace>`.
    Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Success,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunError {
    pub code: String,
    pub name: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Thrown>>,
}

/// Whether the run can be replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recording {
    #[default]
    None,
    Kept,
    /// It was larger than what is kept.
    Truncated,
}

/// Which runs of a source are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RecordingMode {
    Off,
    #[default]
    Errors,
    All,
    /// Errors, and one in so many of the others.
    Sampled {
        one_in: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("runs are recorded as `off`, `errors`, `all`, or one in many: `1/100`")]
pub struct RecordingModeError;

/// What is known of a run besides its outcome.
pub struct Facts<'a> {
    pub id: RunId,
    pub emitter_id: &'a str,
    pub version: &'a str,
    pub trigger: Trigger,
    pub trace_id: TraceId,
    pub queued_at_ms: u64,
    pub ended_at_ms: u64,
    pub reply_status: Option<u16>,
    pub recording: Recording,
}

// === impl RunRecord ===

impl RunRecord {
    pub fn new(facts: Facts<'_>, outcome: &Outcome, emit_ids: impl ExactSizeIterator<Item = String>) -> Self {
        let Usage { fuel, cpu, wall_clock, peak_memory_bytes } = outcome.usage;
        let wall_clock_ms = u64::try_from(wall_clock.as_millis()).unwrap_or(u64::MAX);
        let written = outcome.written();
        let keys = written.iter().map(|write| cut(&data_stores::shown(&write.key), NAME_BYTES_MAXIMUM));
        Self {
            id: facts.id,
            emitter_id: facts.emitter_id.to_owned(),
            version: cut(facts.version, NAME_BYTES_MAXIMUM),
            trigger: facts.trigger,
            trace_id: facts.trace_id,
            state: if outcome.fault.is_some() { State::Error } else { State::Success },
            queued_at_ms: facts.queued_at_ms,
            started_at_ms: facts.ended_at_ms.saturating_sub(wall_clock_ms).max(facts.queued_at_ms),
            ended_at_ms: facts.ended_at_ms,
            fuel,
            cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
            peak_memory_bytes: peak_memory_bytes as u64,
            sent_bytes: outcome.traffic.sent_bytes,
            received_bytes: outcome.traffic.received_bytes,
            requests: Listed { count: outcome.traffic.requests_made, first: outcome.traffic.requests.clone() },
            emits: Listed::of(emit_ids),
            writes: Listed::of(keys),
            reply_status: facts.reply_status,
            error: outcome.fault.as_ref().map(RunError::of),
            recording: facts.recording,
        }
    }
}

// === impl RunError ===

impl RunError {
    pub fn of(fault: &Fault) -> Self {
        let thrown = fault.thrown();
        Self {
            code: fault.code().to_owned(),
            name: thrown.map_or_else(|| "Error".to_owned(), |thrown| cut(&thrown.name, NAME_BYTES_MAXIMUM)),
            message: cut(&fault.message(), TEXT_BYTES_MAXIMUM),
            stack: cut(fault.stack(), 2 * TEXT_BYTES_MAXIMUM),
            cause: thrown.and_then(|thrown| thrown.cause.as_deref()).map(|cause| Box::new(shortened(cause, 3))),
        }
    }
}

impl RunRecord {
    /// Masks what a redaction has hidden.
    pub fn mask(&mut self, hidden: &Hidden) {
        if let Some(error) = &mut self.error {
            error.mask(hidden);
        }
        let requests = self.requests.first.iter_mut();
        let requests = requests.flat_map(|made| [&mut made.host, &mut made.path].into_iter().chain(&mut made.error));
        self.writes.first.iter_mut().chain(requests).for_each(|text| hidden.mask_text(text));
    }
}

impl RunError {
    /// Masks what a redaction has hidden.
    pub fn mask(&mut self, hidden: &Hidden) {
        for text in [&mut self.message, &mut self.stack] {
            hidden.mask_text(text);
        }
        let mut cause = self.cause.as_deref_mut();
        while let Some(thrown) = cause {
            for text in [&mut thrown.message, &mut thrown.stack] {
                hidden.mask_text(text);
            }
            thrown.code.iter_mut().for_each(|code| hidden.mask(code));
            cause = thrown.cause.as_deref_mut();
        }
    }
}

/// A cause and so many of its own.
fn shortened(thrown: &Thrown, depth: usize) -> Thrown {
    let deeper = thrown.cause.as_deref().filter(|_| depth > 1);
    Thrown {
        name: cut(&thrown.name, NAME_BYTES_MAXIMUM),
        message: cut(&thrown.message, TEXT_BYTES_MAXIMUM),
        stack: String::new(),
        code: thrown.code.clone().filter(|code| !code.is_object() && !code.is_array()),
        file: thrown.file.as_deref().map(|file| cut(file, NAME_BYTES_MAXIMUM)),
        line: thrown.line,
        column: thrown.column,
        cause: deeper.map(|cause| Box::new(shortened(cause, depth - 1))),
    }
}

// === impl RecordingMode ===

impl RecordingMode {
    pub fn parse(text: &str) -> Result<Self, RecordingModeError> {
        match text {
            "off" => Ok(Self::Off),
            "errors" => Ok(Self::Errors),
            "all" => Ok(Self::All),
            text => {
                let one_in = text.strip_prefix("1/").and_then(|number| number.parse().ok());
                one_in.filter(|one_in| *one_in > 0).map(|one_in| Self::Sampled { one_in }).ok_or(RecordingModeError)
            }
        }
    }
}

impl TryFrom<String> for RecordingMode {
    type Error = RecordingModeError;

    fn try_from(text: String) -> Result<Self, RecordingModeError> {
        Self::parse(&text)
    }
}

impl From<RecordingMode> for String {
    fn from(mode: RecordingMode) -> Self {
        match mode {
            RecordingMode::Off => "off".to_owned(),
            RecordingMode::Errors => "errors".to_owned(),
            RecordingMode::All => "all".to_owned(),
            RecordingMode::Sampled { one_in } => format!("1/{one_in}"),
        }
    }
}

// === impl Recording ===

impl Recording {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

// === impl TriggerKind ===

impl TriggerKind {
    pub const ALL: [Self; 8] =
        [Self::Http, Self::Timer, Self::Event, Self::Manual, Self::Hook, Self::Options, Self::Retry, Self::Step];

    /// As it is written in records, and in labels of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Timer => "timer",
            Self::Event => "event",
            Self::Manual => "manual",
            Self::Hook => "hook",
            Self::Options => "options",
            Self::Retry => "retry",
            Self::Step => "step",
        }
    }
}

// === impl Trigger ===

impl Trigger {
    pub fn of(kind: TriggerKind) -> Self {
        Self { kind, id: None }
    }
}

// === impl Listed ===

impl<Item> Default for Listed<Item> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}

impl<Item> Listed<Item> {
    pub fn of(items: impl ExactSizeIterator<Item = Item>) -> Self {
        Self { count: items.len(), first: items.take(LISTED_MAXIMUM).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The text, or its beginning.
pub fn cut(text: &str, limit_bytes: usize) -> String {
    if text.len() <= limit_bytes {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(limit_bytes)).unwrap_or_default();
    format!("{kept}…")
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
