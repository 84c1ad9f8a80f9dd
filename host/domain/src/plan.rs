//! Plans the streams of a run from its outcome: which events are kept, in which order, and what is reported.
//!
//! Pure: nothing is read or written here, and time and ids are given.

use serde::Serialize;
use serde_json::json;

use crate::dedupe::{self, DedupeState, Strategy};
use crate::emit::{self, Channel};
use crate::event::{Event, LogEntry, Metadata};
use crate::ids::EmitId;
use crate::json::Json;
use crate::limits::Limits;
use crate::outcome::{Emit, Fault, Level, LogLine, Outcome, Thrown};
use crate::subscriptions::Stream;

/// Rejected emits that are reported per run: a run may have ten thousand, and the first ones tell as much as all.
const ERRORS_MAXIMUM: usize = 20;

/// What all events of a run have in common. Time and ids are given, so that planning is a pure function.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub emitter_id: &'a str,
    pub dedupe: Option<Strategy>,
    pub limits: &'a Limits,
    pub run_id: &'a str,
    /// The event that was being processed.
    pub original_event: Option<&'a Json>,
    pub now_ms: i64,
    /// A new id for each event.
    pub emit_id: &'a (dyn Fn() -> EmitId + Send + Sync),
}

/// What goes into the streams of the source.
#[derive(Default)]
pub struct Plan {
    /// In the order they are emitted.
    pub events: Vec<Planned>,
    pub errors: Vec<Event>,
    pub logs: Vec<LogEntry>,
    /// The next state, when the source deduplicates.
    pub dedupe: Option<DedupeState>,
}

/// One event that will be emitted.
pub struct Planned {
    pub stream: String,
    pub event: Event,
    /// When subscribers are to get it, if not at once.
    pub delivery_ms: Option<u64>,
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
    pub fn new(context: &Context<'_>, outcome: &Outcome, state: DedupeState) -> Self {
        let mut plan = Self::default();
        plan.logs.extend(outcome.logs.iter().map(|line| LogEntry::new(context.run_id, line.clone())));
        let emits = plan.parse_emits(context, &outcome.emits);
        let accepted = match context.dedupe {
            None => emits,
            Some(strategy) => {
                let applied = dedupe::apply(strategy, state, emits);
                for rejection in &applied.rejected {
                    plan.reject(context, &rejection.reason.to_string());
                }
                plan.dedupe = Some(applied.state);
                applied.accepted
            }
        };
        for emit in accepted {
            let stream = emit.channel.as_str().to_owned();
            let delivery_ms = emit.delivery_ts.and_then(|at_ms| u64::try_from(at_ms).ok());
            plan.events.push(Planned { stream, event: context.event(emit), delivery_ms });
        }
        if let Some(fault) = &outcome.fault {
            plan.errors.push(context.error(fault));
            plan.logs.push(context.log(Level::Error, &log_text(fault)));
        }
        plan
    }

    fn parse_emits(&mut self, context: &Context<'_>, emits: &[Emit]) -> Vec<emit::Emit> {
        let mut parsed = Vec::with_capacity(emits.len());
        for given in emits {
            let limits = context.limits;
            if !given.event.is_readable(limits.nesting_depth) {
                let levels = limits.nesting_depth;
                self.reject(
                    context,
                    &format!("it nests deeper than {levels} levels, or is not JSON that every reader accepts"),
                );
                continue;
            }
            let emit = emit::Emit::parse(given.event.clone(), &given.metadata);
            match emit.and_then(|emit| emit.checked(limits)) {
                Ok(emit) => parsed.push(emit),
                Err(error) => self.reject(context, &error.to_string()),
            }
        }
        emit::order(parsed)
    }

    /// Takes back events that cannot be kept.
    pub fn reject_where(&mut self, context: &Context<'_>, is_rejected: impl Fn(&Planned) -> bool, reason: &str) {
        let (rejected, kept) = std::mem::take(&mut self.events).into_iter().partition::<Vec<_>, _>(is_rejected);
        self.events = kept;
        for _ in rejected {
            self.reject(context, reason);
        }
    }

    /// Design: "rejected with an error in the log and in `$errors`, never silently dropped".
    fn reject(&mut self, context: &Context<'_>, reason: &str) {
        if self.errors.len() >= ERRORS_MAXIMUM {
            return;
        }
        let message = format!("an emit was rejected: {reason}");
        self.logs.push(context.log(Level::Error, &message));
        self.errors.push(context.report("emit_rejected", "EmitError", &message, &message));
    }
}

// === impl Context ===

impl Context<'_> {
    fn event(&self, emit: emit::Emit) -> Event {
        let name = match &emit.channel {
            Channel::Default => String::new(),
            Channel::Named(name) => name.clone(),
        };
        let id = emit.id.map(|id| id.as_str().to_owned());
        let metadata = Metadata { id, summary: emit.summary, ts: emit.ts, ..self.metadata(name) };
        Event { event: emit.event, metadata }
    }

    fn error(&self, fault: &Fault) -> Event {
        let name = fault.thrown().map_or("Error", |thrown| &thrown.name);
        let whole = fault.to_string();
        let stack = if fault.stack().is_empty() { whole.as_str() } else { fault.stack() };
        let cause = fault.thrown().and_then(|thrown| thrown.cause.as_deref());
        self.report_caused(&Reported { code: fault.code(), name, message: &fault.message(), stack, cause })
    }

    pub fn report(&self, code: &str, name: &str, message: &str, stack: &str) -> Event {
        self.report_caused(&Reported { code, name, message, stack, cause: None })
    }

    fn report_caused(&self, reported: &Reported<'_>) -> Event {
        let ts = iso_8601(self.now_ms);
        let mut error = json!(reported);
        if let Some(fields) = error.as_object_mut() {
            fields.insert("ts".to_owned(), json!(ts));
        }
        let event = json!({
            "error": error,
            "original_event": self.original_event,
            "original_context": {"id": self.run_id, "ts": ts, "source_id": self.emitter_id},
        });
        Event { event: event.into(), metadata: self.metadata(Stream::Errors.metadata_name().to_owned()) }
    }

    /// A log line as subscribers of `$logs` receive it.
    pub fn log_event(&self, line: &LogEntry) -> Event {
        let event = json!({"run_id": line.run_id, "at_ms": line.at_ms, "level": line.level, "message": line.message});
        Event { event: event.into(), metadata: self.metadata(Stream::Logs.metadata_name().to_owned()) }
    }

    fn metadata(&self, name: String) -> Metadata {
        let emit_id = (self.emit_id)().to_string();
        let run_id = (!self.run_id.is_empty()).then(|| self.run_id.to_owned());
        Metadata { emit_id, name, emitter_id: self.emitter_id.to_owned(), id: None, summary: None, ts: None, run_id }
    }

    fn log(&self, level: Level, message: &str) -> LogEntry {
        let line =
            LogLine { at_ms: u64::try_from(self.now_ms).unwrap_or_default(), level, message: message.to_owned() };
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
pub fn iso_8601(now_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests;
