//! Keeps what a run can be repeated from: its call, the host's answers, and what it did, compressed and sealed.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::ids::RunId;
use domain::outcome::Recorded;
use domain::replay::Deeds;
use domain::runs::{Recording as Kept, RecordingMode};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{EntryId, EntryQuery, Op, Order, Tenant};

use super::execute::Executed;
use super::{Invocation, Values};
use crate::ports::{Reply, RunLimits};
use crate::records::{RecordError, Recording, StreamEntry, names};
use crate::vault::Context;
use crate::{Error, Platform};

pub(crate) const FIELD: &str = "tape";
/// Against content that inflates without end; far above what is recorded.
const INFLATED_MAXIMUM: u64 = 256 << 20;
/// Smaller content is kept as it is: to compress it would take longer than everything else that is done for it.
const DEFLATED_FROM: usize = 4096;
/// A recording may be some hundred kilobytes.
const READ_AT_ONCE: u32 = 20;
const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;

/// The content of a recording.
#[derive(Serialize, Deserialize)]
pub(crate) struct Content {
    /// JSON for the guest, with secret props in the clear: never shown.
    pub(crate) call: String,
    /// The host's answers, in base64.
    pub(crate) answers: String,
    pub(crate) fuel_limit: u64,
    pub(crate) memory_bytes: usize,
    pub(crate) deeds: Deeds,
}

/// What the batch of a run contains of its recording.
#[derive(Default)]
pub(super) struct Keeping {
    pub(super) operation: Option<Op>,
    /// Deletes what is older than it may be.
    pub(super) expired: Vec<Op>,
    pub(super) state: Kept,
}

/// How runs of a target are recorded.
pub(super) fn mode(invocation: &Invocation<'_>) -> RecordingMode {
    match &invocation.target.values {
        Values::Stored(source) => source.recording,
        Values::Given(_) => RecordingMode::default(),
    }
}

/// The bound on a recording, while the run goes on; none when it will not be kept whatever happens.
pub(super) fn limit_bytes(platform: &Platform, invocation: &Invocation<'_>) -> usize {
    let limits = &platform.config.limits;
    match mode(invocation) {
        RecordingMode::Off => 0,
        _ if limits.recordings_kept == 0 || invocation.target.retention().kept(limits.runs_kept) == 0 => 0,
        _ => limits.recording_bytes,
    }
}

/// Decides whether the run's recording is kept, and how.
pub(super) fn keep(platform: &Platform, invocation: &Invocation<'_>, executed: &Executed) -> Result<Keeping, Error> {
    if limit_bytes(platform, invocation) == 0 {
        return Ok(Keeping::default());
    }
    let has_failed = executed.outcome.fault.is_some();
    let is_wanted = match mode(invocation) {
        RecordingMode::Off => false,
        RecordingMode::Errors => has_failed,
        RecordingMode::All => true,
        RecordingMode::Sampled { one_in } => {
            has_failed || u32::from_le_bytes(platform.entropy.bytes()).is_multiple_of(one_in)
        }
    };
    match (&executed.outcome.recording, &executed.call) {
        (Some(Recorded::Truncated), _) if is_wanted => Ok(Keeping { state: Kept::Truncated, ..Keeping::default() }),
        (Some(Recorded::Kept(answers)), Some(call)) if is_wanted => {
            let operation = write(platform, invocation, executed, answers, call)?;
            Ok(Keeping { operation: Some(operation), state: Kept::Kept, expired: Vec::new() })
        }
        _ => Ok(Keeping::default()),
    }
}

fn write(
    platform: &Platform,
    invocation: &Invocation<'_>,
    executed: &Executed,
    answers: &[u8],
    call: &str,
) -> Result<Op, Error> {
    let (tenant, run_id) = (invocation.owner.tenant, executed.transaction.run_id().to_string());
    let reply = invocation.reply.as_ref().and_then(|slot| slot.peek());
    let RunLimits { fuel, memory_bytes, .. } = invocation.limits;
    let content = Content {
        call: call.to_owned(),
        answers: STANDARD_NO_PAD.encode(answers),
        fuel_limit: fuel,
        memory_bytes,
        deeds: Deeds::of(&executed.outcome, reply.as_ref().map(shown_reply)),
    };
    let sealed = platform.vault.seal(context(tenant, &run_id), &pack(&content)?)?;
    let recording = Recording {
        run_id,
        emitter_id: invocation.target.id.to_owned(),
        origin: invocation.target.origin,
        program: invocation.target.program.to_owned(),
        sealed,
    };
    append(platform, &recording)
}

pub(crate) fn append(platform: &Platform, recording: &Recording) -> Result<Op, Error> {
    let (emitter, stream) = (names::RECORDINGS.to_owned(), names::DEFAULT.to_owned());
    let keep = u32::try_from(platform.config.limits.recordings_kept).unwrap_or(u32::MAX);
    Ok(Op::Append { emitter, stream, value: recording.encode()?, keep })
}

/// Deletes the recording of a run, which was committed after the run began and is mostly found with this one read. One that
/// moved since, when keys were rotated, goes when newer ones take its place.
pub(super) async fn delete_of_run(platform: &Platform, tenant: &Tenant, run_id: &RunId) -> Result<Option<Op>, Error> {
    let began = EntryId::new(u64::try_from(run_id.started_at_ms()).unwrap_or_default(), 0);
    let query = EntryQuery { first: Some(began), last: None, order: Order::OldestFirst, limit: READ_AT_ONCE };
    let (emitter, stream) = (names::RECORDINGS.to_owned(), names::DEFAULT.to_owned());
    for entry in platform.store.entries(tenant, &emitter, &stream, query).await? {
        if Recording::decode(&entry.value)?.run_id == run_id.as_str() {
            let id = Some(entry.id);
            return Ok(Some(Op::DeleteEntries { emitter, stream, first: id, last: id, max: 1 }));
        }
    }
    Ok(None)
}

pub(crate) fn read(platform: &Platform, tenant: &Tenant, recording: &Recording) -> Result<Content, Error> {
    let opened = platform.vault.open(context(tenant, &recording.run_id), &recording.sealed)?;
    let damaged = |error: std::io::Error| malformed(serde::de::Error::custom(error));
    match opened.expose().split_first() {
        Some((&DEFLATED, rest)) => {
            let mut text = Vec::new();
            DeflateDecoder::new(rest).take(INFLATED_MAXIMUM).read_to_end(&mut text).map_err(damaged)?;
            Ok(serde_json::from_slice(&text).map_err(malformed)?)
        }
        rest => Ok(serde_json::from_slice(rest.map_or(&[], |(_, rest)| rest)).map_err(malformed)?),
    }
}

/// The form, then the content in it.
fn pack(content: &Content) -> Result<Vec<u8>, Error> {
    let unwritable = |source| RecordError::Unwritable { kind: FIELD, source };
    let mut packed = vec![PLAIN];
    serde_json::to_writer(&mut packed, content).map_err(unwritable)?;
    if packed.len() < DEFLATED_FROM {
        return Ok(packed);
    }
    let mut encoder = DeflateEncoder::new(vec![DEFLATED], Compression::fast());
    let written = encoder.write_all(packed.get(1..).unwrap_or_default()).and_then(|()| encoder.finish());
    Ok(written.map_err(|error| unwritable(serde::ser::Error::custom(error)))?)
}

fn malformed(source: serde_json::Error) -> RecordError {
    RecordError::Malformed { kind: FIELD, source }
}

pub(crate) fn context<'a>(tenant: &'a Tenant, run_id: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record: run_id, field: FIELD }
}

/// A reply as it is compared.
pub(crate) fn shown_reply(reply: &Reply) -> Value {
    json!({"status": reply.status, "headers": reply.headers, "body": String::from_utf8_lossy(&reply.body)})
}

impl Content {
    pub(crate) fn answers(&self) -> bytes::Bytes {
        STANDARD_NO_PAD.decode(&self.answers).unwrap_or_default().into()
    }

    /// The event or the steps that the run was given.
    pub(crate) fn input(&self) -> Value {
        let call: Value = serde_json::from_str(&self.call).unwrap_or_default();
        call.get("event").or_else(|| call.get("steps")).cloned().unwrap_or_default()
    }
}
