//! Checks the messages of a worker about one run against the run's limits.
//!
//! The host functions in the worker keep the same limits and end a run that crosses one with a fault. So whatever is over a limit here
//! was not sent by a worker in working order, and ends the worker.

use std::time::Duration;

use serde::de::IgnoredAny;

use super::codec::Malformed;
use crate::limits::Limits;
use crate::outcome::{EmitMetadata, LogLine, Outcome, Usage, Write};
use crate::services::Reply;

/// What a host function adds to a log line that it cuts, and what metadata may grow by when it is written anew.
const SLACK_BYTES: usize = 64;

pub(super) struct Tally {
    limits: Limits,
    log_lines: usize,
    logged_bytes: usize,
    written_bytes: usize,
    requests: usize,
    sent_bytes: usize,
    received_bytes: usize,
    has_replied: bool,
    /// How often what was written was made durable: so many requests may leave.
    flushes: usize,
}

// === impl Tally ===

impl Tally {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            log_lines: 0,
            logged_bytes: 0,
            written_bytes: 0,
            requests: 0,
            sent_bytes: 0,
            received_bytes: 0,
            has_replied: false,
            flushes: 0,
        }
    }

    pub(super) fn has_replied(&self) -> bool {
        self.has_replied
    }

    pub(super) fn key(&self, key: &str) -> Result<(), Malformed> {
        within(key.len(), self.limits.db_key_bytes, "a key that is too long")
    }

    pub(super) fn writes(&mut self, writes: &[Write]) -> Result<(), Malformed> {
        for Write { key, value } in writes {
            self.key(key)?;
            let Some(value) = value else { continue };
            within(value.len(), self.limits.db_value_bytes, "a value that is too large")?;
            serde_json::from_str::<IgnoredAny>(value).map_err(|_| Malformed("a value that is not JSON"))?;
        }
        self.written_bytes += size_of_writes(writes);
        within(self.written_bytes, self.limits.db_written_bytes, "too many writes")
    }

    /// The host answered these writes; they will come again.
    pub(super) fn kept(&mut self, kept: &[Write]) {
        self.written_bytes = self.written_bytes.saturating_sub(size_of_writes(kept));
        self.flushes += 1;
    }

    pub(super) fn log(&mut self, line: &LogLine) -> Result<(), Malformed> {
        self.log_lines += 1;
        self.logged_bytes += line.message.len();
        within(self.log_lines, self.limits.log_lines, "too many log lines")?;
        within(line.message.len(), self.limits.log_line_bytes + SLACK_BYTES, "a log line that is too long")?;
        within(self.logged_bytes, self.limits.log_bytes, "log lines that are too long")
    }

    pub(super) fn reply(&mut self, reply: &Reply) -> Result<(), Malformed> {
        if std::mem::replace(&mut self.has_replied, true) {
            return Err(Malformed("a second reply"));
        }
        if !(100..=599).contains(&reply.status) {
            return Err(Malformed("a reply with a status that is none"));
        }
        let header_bytes = reply.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        within(reply.headers.len(), self.limits.reply_headers, "a reply with too many headers")?;
        within(header_bytes, self.limits.reply_header_bytes, "a reply with headers that are too large")?;
        within(reply.body.len(), self.limits.reply_bytes, "a reply that is too large")
    }

    /// A request with the first of its body.
    pub(super) fn request(&mut self, body_bytes: usize) -> Result<(), Malformed> {
        self.requests += 1;
        // Output commit: the other side may call back, and must find what was written before. Requests that are made at
        // once leave together, each after its own flush.
        within(self.requests, self.flushes, "a request before the writes that precede it")?;
        within(self.requests, self.limits.requests, "too many requests")?;
        self.sent(body_bytes)
    }

    pub(super) fn sent(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.sent_bytes += bytes;
        within(self.sent_bytes, self.limits.sent_bytes, "too much of a body")
    }

    pub(super) fn received(&mut self, bytes: usize) {
        self.received_bytes += bytes;
    }

    /// Whether the run may get more; the worker ends it when it knows that it may not.
    pub(super) fn may_receive(&self) -> bool {
        self.received_bytes <= self.limits.received_bytes
    }

    /// What a run can have used at most, whatever its worker says.
    pub(super) fn usage(&self, said: Usage, elapsed: Duration) -> Usage {
        usage_within(said, &self.limits, elapsed)
    }

    /// The numbers of events and effects were checked as they were read.
    pub(super) fn outcome(&mut self, outcome: &Outcome) -> Result<(), Malformed> {
        self.writes(&outcome.writes)?;
        let mut emitted_bytes = 0;
        for emit in &outcome.emits {
            let bytes = emit.event.get().len() + size_of_metadata(&emit.metadata);
            within(bytes, self.limits.event_bytes + SLACK_BYTES, "an event that is too large")?;
            emitted_bytes += bytes.saturating_sub(SLACK_BYTES);
        }
        for effect in &outcome.effects {
            within(effect.parameters.get().len(), self.limits.event_bytes, "an effect that is too large")?;
            emitted_bytes += effect.parameters.get().len();
        }
        within(emitted_bytes, self.limits.emitted_bytes, "events that are too large together")?;
        let returned_bytes = outcome.returned.as_ref().map_or(0, |json| json.get().len());
        within(returned_bytes, self.limits.memory_bytes, "a result that is larger than its memory")
    }
}

pub(super) fn usage_within(said: Usage, limits: &Limits, elapsed: Duration) -> Usage {
    Usage {
        fuel: said.fuel.min(limits.fuel),
        cpu: said.cpu.min(elapsed),
        wall_clock: said.wall_clock.min(elapsed),
        peak_memory_bytes: said.peak_memory_bytes.min(limits.memory_bytes),
    }
}

fn size_of_writes(writes: &[Write]) -> usize {
    writes.iter().map(|Write { key, value }| key.len() + value.as_ref().map_or(0, String::len)).sum()
}

fn size_of_metadata(metadata: &EmitMetadata) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let id = metadata.id.as_ref().map_or(0, |id| match id {
        serde_json::Value::String(text) => text.len(),
        other => other.to_string().len(),
    });
    id + text(&metadata.name) + text(&metadata.summary)
}

fn within(used: usize, limit: usize, problem: &'static str) -> Result<(), Malformed> {
    if used <= limit { Ok(()) } else { Err(Malformed(problem)) }
}

#[cfg(test)]
mod tests;
