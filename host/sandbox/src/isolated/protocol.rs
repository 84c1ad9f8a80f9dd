//! The protocol between host and worker: frames on a socket pair.
//!
//! The host is believed by the worker; the worker is not believed by the host. So what the worker sends is read against the
//! limits of the run it is about, and `serve.rs` counts what comes in several frames.
//!
//! Run zero is the connection itself: its beginning, and a build, of which a worker makes one at most.

mod http;
mod limits;
mod outcome;
mod program;

use bytes::Bytes;

use super::codec::{Decoder, Encoder, Malformed};
use super::connection::RunStart;
use crate::limits::Limits;
use crate::outcome::{Level, LogLine, Outcome, Thrown, Usage, Write};
use crate::services::Reply;
use crate::tape::{Replay, ReplayMode};
use http::read_reply;
pub(super) use http::{RequestHead, ResponseHead, read_fetch_error, write_fetch_error, write_reply};
pub(super) use limits::{read_limits, write_limits};
pub(super) use outcome::Written;
pub(super) use program::{read_program, write_program};

/// The run of frames that belong to none.
pub(super) const NO_RUN: u64 = 0;

/// Most keys written by one run, where its limit of bytes does not come first.
const MOST_WRITES: usize = 1 << 20;

/// Longest reason of a failure, which goes to the operator's log.
const MOST_REASON_BYTES: usize = 1 << 10;

/// From the host.
pub(super) mod to_worker {
    pub(in super::super) const HELLO: u8 = 1;
    pub(in super::super) const INSTALL: u8 = 2;
    pub(in super::super) const FORGET: u8 = 3;
    pub(in super::super) const START: u8 = 4;
    pub(in super::super) const CANCEL: u8 = 5;
    /// The value a call asked for, or none.
    pub(in super::super) const VALUE: u8 = 6;
    /// The writes that stay with the run.
    pub(in super::super) const KEPT: u8 = 7;
    pub(in super::super) const HEAD: u8 = 8;
    pub(in super::super) const CHUNK: u8 = 9;
    /// A chunk of a request's body was taken.
    pub(in super::super) const TAKEN: u8 = 10;
    pub(in super::super) const BUILD: u8 = 11;
}

/// From the worker.
pub(super) mod to_host {
    pub(in super::super) const READY: u8 = 101;
    pub(in super::super) const DB_GET: u8 = 102;
    pub(in super::super) const BEFORE_REQUEST: u8 = 103;
    pub(in super::super) const CREDENTIALS: u8 = 104;
    pub(in super::super) const REPLY: u8 = 105;
    pub(in super::super) const LOG: u8 = 106;
    pub(in super::super) const FETCH: u8 = 107;
    pub(in super::super) const UPLOAD: u8 = 108;
    pub(in super::super) const UPLOADED: u8 = 109;
    pub(in super::super) const READ: u8 = 110;
    pub(in super::super) const STOP_FETCH: u8 = 111;
    pub(in super::super) const DONE: u8 = 112;
    pub(in super::super) const FAILED: u8 = 113;
    pub(in super::super) const BUILT: u8 = 114;
}

/// One frame as it came.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) run: u64,
    pub(super) body: Bytes,
}

/// How a worker begins. With it comes the file of the base image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) warm_slots: usize,
    pub(super) base_bytes: usize,
}

/// An image the worker may be asked to run. With it come the files of its memory and of its program.
pub(super) struct Install {
    pub(super) image: u64,
    pub(super) memory_bytes: usize,
}

pub(super) struct Start {
    pub(super) image: u64,
    pub(super) now_ms: f64,
    pub(super) limits: Limits,
    pub(super) call: String,
    pub(super) replay: Option<Replay>,
}

/// What a worker says about one of its runs.
#[derive(Debug)]
pub(super) enum WorkerMessage {
    DbGet {
        key: String,
    },
    BeforeRequest {
        writes: Vec<Write>,
    },
    Credentials {
        prop: String,
    },
    Reply(Reply),
    Log(LogLine),
    Fetch(Box<RequestHead>),
    Upload {
        request: u32,
        chunk: Bytes,
    },
    Uploaded {
        request: u32,
    },
    Read {
        request: u32,
    },
    StopFetch {
        request: u32,
    },
    Done(Box<Outcome>),
    /// The worker could not make the run, for a reason that is not the component's.
    Failed {
        reason: String,
    },
}

/// How a build ended.
#[derive(Debug)]
pub(super) enum BuildResult {
    Loaded { description: String, logs: Vec<LogLine>, memory_bytes: usize },
    Threw(Thrown),
    Fault(crate::outcome::Fault),
    Failed { reason: String },
}

// === impl Frame ===

impl Frame {
    pub(super) fn reader(&self) -> Decoder {
        Decoder::new(self.body.clone())
    }

    /// What the worker says about a run, read against its limits.
    pub(super) fn said(self, limits: &Limits) -> Result<WorkerMessage, Malformed> {
        let mut from = Decoder::new(self.body);
        let said = match self.kind {
            to_host::DB_GET => WorkerMessage::DbGet { key: from.text()? },
            to_host::BEFORE_REQUEST => WorkerMessage::BeforeRequest { writes: read_writes(&mut from)? },
            to_host::CREDENTIALS => WorkerMessage::Credentials { prop: from.text()? },
            to_host::REPLY => WorkerMessage::Reply(read_reply(&mut from, limits)?),
            to_host::LOG => WorkerMessage::Log(read_log(&mut from)?),
            to_host::FETCH => WorkerMessage::Fetch(Box::new(RequestHead::read(&mut from)?)),
            to_host::UPLOAD => WorkerMessage::Upload { request: from.u32()?, chunk: from.bytes()? },
            to_host::UPLOADED => WorkerMessage::Uploaded { request: from.u32()? },
            to_host::READ => WorkerMessage::Read { request: from.u32()? },
            to_host::STOP_FETCH => WorkerMessage::StopFetch { request: from.u32()? },
            to_host::DONE => WorkerMessage::Done(Box::new(outcome::read(&mut from, limits)?)),
            to_host::FAILED => WorkerMessage::Failed { reason: read_reason(&mut from)? },
            _ => return Err(Malformed("a frame of an unknown kind")),
        };
        from.end()?;
        Ok(said)
    }

    /// How a build ended, and what it took.
    pub(super) fn build_result(self, limits: &Limits) -> Result<(BuildResult, Usage), Malformed> {
        let mut from = Decoder::new(self.body);
        let usage = outcome::read_usage(&mut from)?;
        let result = match (self.kind, from.u8()?) {
            (to_host::BUILT, 0) => BuildResult::Loaded {
                description: from.text()?,
                logs: from.list(limits.log_lines, read_log)?,
                memory_bytes: from.size()?,
            },
            (to_host::BUILT, 1) => BuildResult::Threw(outcome::read_thrown(&mut from)?),
            (to_host::BUILT, 2) => BuildResult::Fault(outcome::read_fault(&mut from)?),
            (to_host::BUILT, 3) => BuildResult::Failed { reason: read_reason(&mut from)? },
            _ => return Err(Malformed("something else than the end of a build")),
        };
        from.end()?;
        Ok((result, usage))
    }
}

// === impl BuildResult ===

impl BuildResult {
    pub(super) fn write(&self, to: &mut Encoder<'_>, usage: &Usage) {
        outcome::write_usage(to, usage);
        match self {
            Self::Loaded { description, logs, memory_bytes } => {
                to.u8(0);
                to.text(description);
                to.list(logs.iter(), write_log);
                to.size(*memory_bytes);
            }
            Self::Threw(thrown) => {
                to.u8(1);
                outcome::write_thrown(to, thrown);
            }
            Self::Fault(fault) => {
                to.u8(2);
                outcome::write_fault(to, fault);
            }
            Self::Failed { reason } => {
                to.u8(3);
                write_reason(to, reason);
            }
        }
    }
}

// === impl Hello ===

impl Hello {
    pub(super) fn write(&self, to: &mut Encoder<'_>) {
        to.size(self.warm_slots);
        to.size(self.base_bytes);
    }

    pub(super) fn read(from: &mut Decoder) -> Result<Self, Malformed> {
        Ok(Self { warm_slots: from.size()?, base_bytes: from.size()? })
    }
}

// === impl Install ===

impl Install {
    pub(super) fn write(&self, to: &mut Encoder<'_>) {
        to.u64(self.image);
        to.size(self.memory_bytes);
    }

    pub(super) fn read(from: &mut Decoder) -> Result<Self, Malformed> {
        Ok(Self { image: from.u64()?, memory_bytes: from.size()? })
    }
}

const MODES: [ReplayMode; 3] = [ReplayMode::Exact, ReplayMode::ByQuestion, ReplayMode::Live];

// === impl Start ===

impl Start {
    pub(super) fn write(to: &mut Encoder<'_>, image: u64, beginning: &RunStart<'_>) {
        to.u64(image);
        to.f64(beginning.now_ms);
        write_limits(to, beginning.limits);
        to.text(beginning.call);
        to.option(beginning.replay, |to, replay| {
            to.u8(MODES.iter().position(|mode| *mode == replay.mode).unwrap_or_default() as u8);
            to.bytes(&replay.recording);
        });
    }

    pub(super) fn read(from: &mut Decoder) -> Result<Self, Malformed> {
        let (image, now_ms, limits, call) = (from.u64()?, from.f64()?, read_limits(from)?, from.text()?);
        let replay = from.option(|from| {
            let mode = MODES.get(from.u8()? as usize).copied().ok_or(Malformed("an unknown mode of replay"))?;
            Ok(Replay { mode, recording: from.bytes()? })
        })?;
        Ok(Self { image, now_ms, limits, call, replay })
    }
}

pub(super) fn write_writes<'a>(to: &mut Encoder<'_>, writes: impl ExactSizeIterator<Item = &'a Write>) {
    to.list(writes, |to, write| {
        to.text(&write.key);
        to.option(write.value.as_deref(), Encoder::text);
    });
}

pub(super) fn read_writes(from: &mut Decoder) -> Result<Vec<Write>, Malformed> {
    from.list(MOST_WRITES, |from| Ok(Write { key: from.text()?, value: from.option(Decoder::text)? }))
}

pub(super) fn write_reason(to: &mut Encoder<'_>, reason: &str) {
    let shown = reason.replace(char::is_control, " ");
    to.text(shown.get(..shown.floor_char_boundary(MOST_REASON_BYTES)).unwrap_or_default());
}

fn read_reason(from: &mut Decoder) -> Result<String, Malformed> {
    let reason = from.text()?;
    if reason.len() > MOST_REASON_BYTES || reason.contains(char::is_control) {
        return Err(Malformed("a reason that is not fit to be shown"));
    }
    Ok(reason)
}

const LEVELS: [Level; 4] = [Level::Debug, Level::Info, Level::Warn, Level::Error];

pub(super) fn write_log(to: &mut Encoder<'_>, line: &LogLine) {
    to.u64(line.at_ms);
    to.u8(LEVELS.iter().position(|level| *level == line.level).unwrap_or_default() as u8);
    to.text(&line.message);
}

fn read_log(from: &mut Decoder) -> Result<LogLine, Malformed> {
    let at_ms = from.u64()?;
    let level = LEVELS.get(from.u8()? as usize).copied().ok_or(Malformed("an unknown level"))?;
    Ok(LogLine { at_ms, level, message: from.text()? })
}

#[cfg(test)]
mod tests;
