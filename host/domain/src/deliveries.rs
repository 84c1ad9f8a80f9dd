//! Deliveries of events to webhooks: the record of one attempt, and the health of a webhook that follows from them.

use serde::{Deserialize, Serialize};

use crate::trace::TraceId;

/// What is kept of the body of an answer.
pub const EXCERPT_BYTES: usize = 512;
/// A webhook that fails for this long is reported.
pub const OUTAGE_MS: u64 = 3_600_000;
/// While all goes well a success is noted this often, because it changes nothing else.
const NOTE_SUCCESS_EVERY_MS: u64 = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    /// Of the event.
    pub emit_id: String,
    pub emitter_id: String,
    pub event_name: String,
    #[serde(default, skip_serializing_if = "TraceId::is_none")]
    pub trace_id: TraceId,
    /// Counts from one.
    pub attempt: u32,
    pub state: DeliveryState,
    /// What the receiver answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The beginning of the answer's body, when it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Until the beginning of the answer was read, or the failure.
    pub ms: u64,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its first attempt.
    Pending,
    /// It waits until its webhook is resumed.
    Paused,
    Delivered,
    /// It is tried again.
    Failing,
    GivenUp,
}

/// How deliveries to a webhook went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// Since when nothing was delivered: the first failure after the last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since_ms: Option<u64>,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The beginning of a body as one line of text; nothing when it is empty or not text. Characters that would control a
/// terminal, or turn the direction of what follows, are removed.
pub fn excerpt(body: &[u8]) -> Option<String> {
    let start = body.get(..EXCERPT_BYTES).unwrap_or(body);
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // A character that the end cuts is no sign of a binary body.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(start.get(..error.valid_up_to())?).unwrap_or_default()
        }
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    let words = text.split_whitespace().map(|word| word.chars().filter(|character| !is_hidden(*character)).collect());
    let words: Vec<String> = words.filter(|word: &String| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Control characters, and Unicode's marks, overrides and isolates of direction.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

// === impl Health ===

impl Health {
    /// After a delivery; nothing when it is not worth a write.
    pub fn after_success(&self, now_ms: u64) -> Option<Self> {
        let is_recent = self.last_success_ms.is_some_and(|at_ms| now_ms < at_ms.saturating_add(NOTE_SUCCESS_EVERY_MS));
        if is_recent && self.failing_since_ms.is_none() {
            return None;
        }
        Some(Self { last_success_ms: Some(now_ms), last_failure: self.last_failure.clone(), failing_since_ms: None })
    }

    #[must_use]
    pub fn after_failure(&self, failure: Failure) -> Self {
        Self {
            last_success_ms: self.last_success_ms,
            failing_since_ms: self.failing_since_ms.or(Some(failure.at_ms)),
            last_failure: Some(failure),
        }
    }

    /// When it will have failed for long enough to be reported.
    pub fn outage_ms(&self) -> Option<u64> {
        self.failing_since_ms.map(|since_ms| since_ms.saturating_add(OUTAGE_MS))
    }
}

#[cfg(test)]
mod tests;
