//! What the host answered a run, in order: recorded, and given again.
//!
//! A run is a function of its image, its call and these answers: the clock, randomness, values of `db`, credentials, and the
//! completions of requests in the order in which they were delivered. Recorded, they make the run repeatable, down to
//! its fuel; a run that asks for something else than it did has diverged, and ends there.
//!
//! Entries are bytes in one buffer, so that recording costs a copy and nothing more:
//! kind (1), length of what was asked (4), length of the answer (4), what was asked, the answer.

mod calls;
mod following;
mod loose;

use bytes::Bytes;
use indexmap::IndexMap;

use crate::wall::Stop;

pub use calls::{HostCall, host_calls};
pub(crate) use loose::{Loose, read_completion, write_completion};

/// The format of a recording; raised with every change of meaning.
pub const FORMAT: u8 = 1;

/// What most runs ask for is less, so that it is not moved while it is written.
const ORDINARY_BYTES: usize = 256;

/// How a recording is used.
#[derive(Clone, Debug)]
pub struct Replay {
    pub recording: Bytes,
    pub mode: ReplayMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// The same code: every answer in its order.
    Exact,
    /// Other code: answers are found by what is asked for.
    ByQuestion,
    /// The same, and what was not recorded is asked of the real services.
    Live,
}

/// The answers of a run that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recording {
    Kept(Bytes),
    /// There were more than could be kept.
    Truncated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Now = 1,
    Elapsed = 2,
    Random = 3,
    DbGet = 4,
    Credentials = 5,
    Fetch = 6,
    Completion = 7,
}

#[derive(Default)]
pub(crate) enum Tape {
    #[default]
    Off,
    Recording(Recorder),
    Exact(Exact),
    Loose(Box<Loose>),
}

pub(crate) struct Recorder {
    bytes: Vec<u8>,
    limit_bytes: usize,
    is_truncated: bool,
}

/// Answers in their order.
pub(crate) struct Exact {
    rest: Bytes,
    /// What the recorded run had made durable when a request left: it is not the run's own any more.
    flushed: Writes,
}

/// Values by key, in the order in which the keys were first written.
pub(crate) type Writes = IndexMap<String, Option<String>>;

/// The answer to a request that writes were made durable for.
const FLUSHED: &[u8] = &[1];

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) asked: Bytes,
    pub(crate) answer: Bytes,
}

// === impl Tape ===

impl Tape {
    /// Records up to so many bytes; nothing for none.
    pub(crate) fn recording(limit_bytes: usize) -> Self {
        match limit_bytes {
            0 => Self::Off,
            limit_bytes => Self::Recording(Recorder::new(limit_bytes)),
        }
    }

    pub(crate) fn replaying(replay: &Replay) -> Self {
        let rest = replay.recording.slice(replay.recording.len().min(1)..);
        match replay.mode {
            ReplayMode::Exact => Self::Exact(Exact { rest, flushed: Writes::new() }),
            mode => Self::Loose(Box::new(Loose::new(rest, mode == ReplayMode::Live))),
        }
    }

    /// Whether answers come from a recording, in its order.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    pub(crate) fn is_replaying(&self) -> bool {
        matches!(self, Self::Exact(_) | Self::Loose(_))
    }

    pub(crate) fn loose(&mut self) -> Option<&mut Loose> {
        match self {
            Self::Loose(loose) => Some(loose),
            _ => None,
        }
    }

    /// A number that the host measures.
    pub(crate) fn number(&mut self, kind: Kind, measure: impl FnOnce() -> f64) -> Result<f64, Stop> {
        match self {
            Self::Off => Ok(measure()),
            Self::Recording(recorder) => {
                let number = measure();
                recorder.add(kind, &[], &number.to_le_bytes());
                Ok(number)
            }
            Self::Exact(exact) => {
                let answer = exact.take(kind, &[])?;
                Ok(f64::from_le_bytes(answer.as_ref().try_into().unwrap_or_default()))
            }
            Self::Loose(loose) => Ok(loose.clock(kind)),
        }
    }

    pub(crate) fn random(&mut self, buffer: &mut [u8], fill: impl FnOnce(&mut [u8])) -> Result<(), Stop> {
        match self {
            Self::Off => fill(buffer),
            Self::Recording(recorder) => {
                fill(buffer);
                recorder.add(Kind::Random, &(buffer.len() as u64).to_le_bytes(), buffer);
            }
            Self::Exact(exact) => {
                let answer = exact.take(Kind::Random, &(buffer.len() as u64).to_le_bytes())?;
                buffer.iter_mut().zip(answer.iter()).for_each(|(byte, given)| *byte = *given);
            }
            Self::Loose(loose) => loose.random(buffer),
        }
        Ok(())
    }

    /// The recorded answer; none when the real service has to be asked.
    pub(crate) fn replayed(&mut self, kind: Kind, asked: &[u8]) -> Result<Option<Bytes>, Stop> {
        match self {
            Self::Off | Self::Recording(_) => Ok(None),
            Self::Exact(exact) => exact.take(kind, asked).map(Some),
            Self::Loose(loose) => loose.find(kind, asked),
        }
    }

    /// Before a request leaves that asked for `asked`.
    pub(crate) fn record_request(&mut self, asked: &[u8], has_flushed: bool) {
        self.record(Kind::Fetch, asked, if has_flushed { FLUSHED } else { &[] });
    }

    /// Whether the recording answers the next request; what the recorded run had flushed for it is taken from `writes`.
    pub(crate) fn replay_request(&mut self, request: u32, asked: &[u8], writes: &mut Writes) -> Result<bool, Stop> {
        match self {
            Self::Off | Self::Recording(_) => Ok(false),
            Self::Exact(exact) => {
                if exact.take(Kind::Fetch, asked)? == FLUSHED {
                    exact.flushed.extend(writes.drain(..));
                }
                Ok(true)
            }
            Self::Loose(loose) => loose.start(request, asked),
        }
    }

    /// What a replayed run has written in all: nothing of it becomes durable, and it is compared as a whole.
    pub(crate) fn take_flushed(&mut self) -> Writes {
        match self {
            Self::Exact(exact) => std::mem::take(&mut exact.flushed),
            _ => Writes::new(),
        }
    }

    pub(crate) fn record(&mut self, kind: Kind, asked: &[u8], answer: &[u8]) {
        if let Self::Recording(recorder) = self {
            recorder.add(kind, asked, answer);
        }
    }

    pub(crate) fn finish(&mut self) -> Option<Recording> {
        match std::mem::take(self) {
            Self::Recording(recorder) if recorder.is_truncated => Some(Recording::Truncated),
            Self::Recording(recorder) => Some(Recording::Kept(recorder.bytes.into())),
            _ => None,
        }
    }
}

// === impl Recorder ===

impl Recorder {
    fn new(limit_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(ORDINARY_BYTES);
        bytes.push(FORMAT);
        Self { bytes, limit_bytes, is_truncated: false }
    }

    fn add(&mut self, kind: Kind, asked: &[u8], answer: &[u8]) {
        let size = 9 + asked.len() + answer.len();
        if self.is_truncated || self.bytes.len() + size > self.limit_bytes {
            self.is_truncated = true;
            self.bytes = Vec::new();
            return;
        }
        self.bytes.push(kind as u8);
        // Within the limit, which is far below four gigabytes.
        self.bytes.extend_from_slice(&(asked.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(answer.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(asked);
        self.bytes.extend_from_slice(answer);
    }
}

// === impl Exact ===

impl Exact {
    fn take(&mut self, kind: Kind, asked: &[u8]) -> Result<Bytes, Stop> {
        let Some(entry) = next_entry(&mut self.rest) else {
            return Err(Stop::RecordingEnded);
        };
        if entry.kind != kind || entry.asked != asked {
            return Err(Stop::Diverged { asked: shown(kind, asked), recorded: shown(entry.kind, &entry.asked) });
        }
        Ok(entry.answer)
    }
}

/// None at the end, and where it is damaged.
pub(crate) fn next_entry(rest: &mut Bytes) -> Option<Entry> {
    let kind = Kind::of(*rest.first()?)?;
    let length = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?) as usize);
    let (asked, answer) = (length(1)?, length(5)?);
    let end = 9_usize.checked_add(asked)?.checked_add(answer)?;
    if rest.len() < end {
        return None;
    }
    let entry = rest.split_to(end);
    Some(Entry { kind, asked: entry.slice(9..9 + asked), answer: entry.slice(9 + asked..) })
}

/// What was asked for, without what may be secret: queries, bodies, values.
pub(crate) fn shown(kind: Kind, asked: &[u8]) -> String {
    let asked = String::from_utf8_lossy(asked);
    match kind {
        Kind::Now => "the time".to_owned(),
        Kind::Elapsed => "the time since its start".to_owned(),
        Kind::Random => "randomness".to_owned(),
        Kind::DbGet => format!("the value of `{asked}` in db"),
        Kind::Credentials => format!("the credentials of `{asked}`"),
        Kind::Fetch => {
            let line = asked.lines().next().unwrap_or_default();
            format!("{} (request)", line.split(['?', '#']).next().unwrap_or_default())
        }
        Kind::Completion => "what had happened to its requests".to_owned(),
    }
}

/// A text, or none, as an answer.
pub(crate) fn write_text(text: Option<&str>) -> Vec<u8> {
    match text {
        None => vec![0],
        Some(text) => std::iter::once(1).chain(text.bytes()).collect(),
    }
}

pub(crate) fn read_text(answer: &Bytes) -> Option<String> {
    answer.split_first().filter(|(tag, _)| **tag == 1).map(|(_, text)| String::from_utf8_lossy(text).into_owned())
}

// === impl Kind ===

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let kinds =
            [Self::Now, Self::Elapsed, Self::Random, Self::DbGet, Self::Credentials, Self::Fetch, Self::Completion];
        kinds.into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[cfg(test)]
mod tests;
