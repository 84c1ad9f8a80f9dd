//! What one run's outcome changes, decided before anything is written.

use domain::dedupe::{self, DedupeState};
use domain::emit::{self, Channel};
use domain::ids::EmitId;
use domain::json::Json;
use domain::subscriptions::Stream;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Platform;
use crate::ports::{Emit, Fault, Level, LogLine, Outcome, Thrown};
use crate::records::{Event, LogEntry, Metadata, Source, Stored};

/// A run may be wrong ten thousand times; the first mistakes tell as much as all.
const ERRORS_MAXIMUM: usize = 20;

/// What a source remembers of what it emitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Dedupe {
    pub(super) source: String,
    pub(super) state: DedupeState,
}

impl Stored for Dedupe {
    const KIND: &'static str = "dedupe";

    fn id(&self) -> String {
        self.source.clone()
    }
}

/// What a run is about, for its events.
pub(super) struct About<'a> {
    pub(super) platform: &'a Platform,
    pub(super) source: &'a Source,
    pub(super) run_id: &'a str,
    /// The event that was being processed.
    pub(super) original_event: Option<&'a Json>,
}

/// What goes into the streams of the source.
#[derive(Default)]
pub(super) struct Plan {
    /// In the order they are emitted.
    pub(super) events: Vec<Planned>,
    pub(super) errors: Vec<Event>,
    pub(super) logs: Vec<LogEntry>,
    /// The next state, when the source deduplicates.
    pub(super) dedupe: Option<DedupeState>,
}

/// One event that will be emitted.
pub(super) struct Planned {
    pub(super) stream: String,
    pub(super) event: Event,
    /// When subscribers are to get it, if not at once.
    pub(super) delivery_ms: Option<u64>,
}

/// `error` of an event of `$errors`, but for its time.
#[derive(Serialize)]
struct Reported<'a> {
    code: &'a str,
    name: &'a str,
    message: &'a str,
    stack: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Thrown>,
}

// === impl Plan ===

impl Plan {
    /// `state` is what the source remembers now.
    pub(super) fn new(about: &About<'_>, outcome: &Outcome, state: DedupeState) -> Self {
        let mut plan = Self::default();
        plan.logs.extend(outcome.logs.iter().map(|line| LogEntry::new(about.run_id, line.clone())));
        let emits = plan.parse_emits(about, &outcome.emits);
        let accepted = match about.source.revision.description.dedupe {
            None => emits,
            Some(strategy) => {
                let applied = dedupe::apply(strategy, state, emits);
                for rejection in &applied.rejected {
                    plan.reject(about, &rejection.reason.to_string());
                }
                plan.dedupe = Some(applied.state);
                applied.accepted
            }
        };
        for emit in accepted {
            let stream = emit.channel.as_str().to_owned();
            let delivery_ms = emit.delivery_ts.and_then(|at_ms| u64::try_from(at_ms).ok());
            plan.events.push(Planned { stream, event: about.event(emit), delivery_ms });
        }
        if let Some(fault) = &outcome.fault {
            plan.errors.push(about.error(fault.code(), &fault.to_string(), fault));
            plan.logs.push(about.log(Level::Error, &log_text(fault)));
        }
        plan
    }

    fn parse_emits(&mut self, about: &About<'_>, emits: &[Emit]) -> Vec<emit::Emit> {
        let mut parsed = Vec::with_capacity(emits.len());
        for given in emits {
            let limits = &about.platform.config.limits;
            if !given.event.is_readable(limits.nesting_depth) {
                let levels = limits.nesting_depth;
                self.reject(
                    about,
                    &format!("it nests deeper than {levels} levels, or is not JSON that everybody reads"),
                );
                continue;
            }
            let emit = emit::Emit::parse(given.event.clone(), &given.metadata);
            match emit.and_then(|emit| emit.checked(limits)) {
                Ok(emit) => parsed.push(emit),
                Err(error) => self.reject(about, &error.to_string()),
            }
        }
        emit::order(parsed)
    }

    /// Takes back events that cannot be kept.
    pub(super) fn reject_where(&mut self, about: &About<'_>, is_rejected: impl Fn(&Planned) -> bool, reason: &str) {
        let (rejected, kept) = std::mem::take(&mut self.events).into_iter().partition::<Vec<_>, _>(is_rejected);
        self.events = kept;
        for _ in rejected {
            self.reject(about, reason);
        }
    }

    /// Design: "rejected with an error in the log and in `$errors`, never silently dropped".
    fn reject(&mut self, about: &About<'_>, reason: &str) {
        if self.errors.len() >= ERRORS_MAXIMUM {
            return;
        }
        let message = format!("an emit was rejected: {reason}");
        self.logs.push(about.log(Level::Error, &message));
        self.errors.push(about.report("emit_rejected", "EmitError", &message, &message));
    }
}

// === impl About ===

impl About<'_> {
    fn event(&self, emit: emit::Emit) -> Event {
        let name = match &emit.channel {
            Channel::Default => String::new(),
            Channel::Named(name) => name.clone(),
        };
        let id = emit.id.map(|id| id.as_str().to_owned());
        let metadata = Metadata { id, summary: emit.summary, ts: emit.ts, ..self.metadata(name) };
        Event { event: emit.event, metadata }
    }

    fn error(&self, code: &str, message: &str, fault: &Fault) -> Event {
        let name = fault.thrown().map_or("Error", |thrown| &thrown.name);
        let stack = if fault.stack().is_empty() { message } else { fault.stack() };
        let cause = fault.thrown().and_then(|thrown| thrown.cause.as_deref());
        self.report_caused(&Reported { code, name, message, stack, cause })
    }

    pub(super) fn report(&self, code: &str, name: &str, message: &str, stack: &str) -> Event {
        self.report_caused(&Reported { code, name, message, stack, cause: None })
    }

    fn report_caused(&self, reported: &Reported<'_>) -> Event {
        let ts = iso_8601(self.platform.clock.instant_ms());
        let mut error = json!(reported);
        if let Some(fields) = error.as_object_mut() {
            fields.insert("ts".to_owned(), json!(ts));
        }
        let event = json!({
            "error": error,
            "original_event": self.original_event,
            "original_context": {"id": self.run_id, "ts": ts, "source_id": self.source.id},
        });
        Event { event: event.into(), metadata: self.metadata(Stream::Errors.metadata_name().to_owned()) }
    }

    /// A line of the log as those get it who subscribed to `$logs`.
    pub(super) fn log_event(&self, line: &LogEntry) -> Event {
        let event = json!({"run_id": line.run_id, "at_ms": line.at_ms, "level": line.level, "message": line.message});
        Event { event: event.into(), metadata: self.metadata(Stream::Logs.metadata_name().to_owned()) }
    }

    fn metadata(&self, name: String) -> Metadata {
        let emit_id = EmitId::new(self.platform.clock.instant_ms(), self.platform.entropy.bytes()).to_string();
        Metadata { emit_id, name, emitter_id: self.source.id.to_string(), id: None, summary: None, ts: None }
    }

    fn log(&self, level: Level, message: &str) -> LogEntry {
        let line = LogLine { at_ms: self.platform.clock.now_ms(), level, message: message.to_owned() };
        LogEntry::new(self.run_id, line)
    }
}

fn log_text(fault: &Fault) -> String {
    match fault {
        Fault::Threw(thrown) if !thrown.stack.is_empty() => thrown.stack.clone(),
        other => other.to_string(),
    }
}

/// ISO 8601 in UTC.
pub(super) fn iso_8601(now_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default().to_string()
}
