//! Keeps what a run can be repeated from: its call, the host's answers, and what it did, compressed and sealed.

mod joining;
mod packing;

use std::borrow::Cow;
use std::sync::Arc;

use domain::ids::RunId;
use domain::outcome::Recorded;
use domain::replay::{Deeds, Told};
use domain::runs::{Recording as Kept, RecordingMode};
use serde::Serialize;
use serde_json::Value;
use store::{Batch, EntryId, EntryQuery, Joined, Op, Order, PART_BYTES_MAXIMUM, Part, Tenant};

use super::Invocation;
use super::execute::Executed;
use crate::ports::{Outcome, Reply, RunLimits};
use crate::records::{RecordError, Recording, StreamEntry, names};
use crate::vault::{Context, NONCE_BYTES};
use crate::{Error, Platform};
use joining::Head;
use packing::{JOINED_LAYOUT, Packed};

pub(crate) use joining::Joiner;

pub(crate) const FIELD: &str = "tape";
/// A recording may be some hundred kilobytes.
const READ_AT_ONCE: u32 = 20;

/// The content of a recording.
pub(crate) struct Content {
    /// JSON for the guest, with secret props in the clear: never shown.
    pub(crate) call: String,
    /// The host's answers.
    pub(crate) answers: Vec<u8>,
    pub(crate) fuel_limit: u64,
    pub(crate) memory_bytes: usize,
    pub(crate) deeds: Deeds,
}

/// What the batch of a run contains of its recording.
#[derive(Default)]
pub(crate) struct Keeping {
    pub(crate) entry: Option<Entry>,
    /// Deletes what is older than it may be.
    pub(super) expired: Vec<Op>,
    pub(crate) state: Kept,
}

/// What is appended of a recording.
#[derive(Clone)]
pub(crate) enum Entry {
    /// With those of other runs.
    Part(Part),
    Alone(Op),
}

/// The run that a recording is of, and what it belongs to.
pub(crate) struct Recorder<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) emitter: &'a str,
}

/// The bound on a recording, while the run goes on; none when it will not be kept whatever happens.
pub(super) fn limit_bytes(platform: &Platform, invocation: &Invocation<'_>) -> usize {
    let limits = &platform.config.limits;
    match invocation.target.recording {
        RecordingMode::Off => 0,
        _ if limits.recordings_kept == 0 || invocation.target.retention().kept(limits.runs_kept) == 0 => 0,
        _ => limits.recording_bytes,
    }
}

/// Decides whether the run's recording is kept, and how.
pub(crate) fn keep(
    platform: &Platform,
    invocation: &Invocation<'_>,
    executed: &Executed,
    run: &Recorder<'_>,
) -> Result<Keeping, Error> {
    if limit_bytes(platform, invocation) == 0 {
        return Ok(Keeping::default());
    }
    let has_failed = executed.outcome.fault.is_some();
    let is_wanted = match invocation.target.recording {
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
            let entry = write(platform, invocation, (executed, run), answers, call)?;
            Ok(Keeping { entry: Some(entry), state: Kept::Kept, expired: Vec::new() })
        }
        _ => Ok(Keeping::default()),
    }
}

fn write(
    platform: &Platform,
    invocation: &Invocation<'_>,
    (executed, run): (&Executed, &Recorder<'_>),
    answers: &[u8],
    call: &str,
) -> Result<Entry, Error> {
    let (tenant, target) = (invocation.owner.tenant, &invocation.target);
    let reply = invocation.reply.as_ref().and_then(|slot| slot.peek());
    let RunLimits { fuel: fuel_limit, memory_bytes, .. } = invocation.limits;
    let whole = invocation.step.as_ref().map(|step| step.given.to_recorded(call));
    let deeds = Told::of(&executed.outcome, reply.as_ref().map(ShownReply::of).as_ref()).map_err(unwritable)?;
    let call = whole.as_deref().unwrap_or(call);
    let content = Packed { call, answers, fuel_limit, memory_bytes, deeds };
    let head =
        Head { run_id: run.id.as_str(), emitter_id: run.emitter, origin: target.origin, program: target.program };
    let layout = platform.hosts().writes();
    if layout < JOINED_LAYOUT {
        let packed = packing::pack(&content, NONCE_BYTES, layout)?;
        let sealed = platform.vault.seal_in_place(context(tenant, head.run_id), packed)?;
        return append(platform, &head.recording(vec![head.run_id.to_owned()], sealed)).map(Entry::Alone);
    }
    let part = part_of(platform, &head, head.with(&content)?);
    let is_short = part.content.len() <= PART_BYTES_MAXIMUM;
    Ok(if is_short { Entry::Part(part) } else { Entry::Alone(part.alone(tenant)?) })
}

fn part_of(platform: &Platform, head: &Head<'_>, content: Vec<u8>) -> Part {
    let (emitter, stream) = (names::RECORDINGS.into(), names::DEFAULT.into());
    let (group, keep) = (head.group(), kept(platform));
    let of = Joined { emitter, stream, group, keep, join: platform.joiner.clone() };
    Part { of: Arc::new(of), content: content.into() }
}

pub(crate) fn append(platform: &Platform, recording: &Recording) -> Result<Op, Error> {
    let (emitter, stream) = (names::RECORDINGS.to_owned(), names::DEFAULT.to_owned());
    Ok(Op::Append { emitter, stream, value: recording.encode()?, keep: kept(platform) })
}

fn kept(platform: &Platform) -> u32 {
    u32::try_from(platform.config.limits.recordings_kept).unwrap_or(u32::MAX)
}

/// Deletes the recording of a run, which was committed after the run began and is mostly found with this one read. One of several
/// runs goes with the last of them, which were committed at once. One that moved since, when keys were rotated, goes when newer
/// ones take its place.
pub(super) async fn delete_of_run(platform: &Platform, tenant: &Tenant, run_id: &RunId) -> Result<Option<Op>, Error> {
    let began = EntryId::new(u64::try_from(run_id.started_at_ms()).unwrap_or_default(), 0);
    let query = EntryQuery { first: Some(began), last: None, order: Order::OldestFirst, limit: READ_AT_ONCE };
    let (emitter, stream) = (names::RECORDINGS.to_owned(), names::DEFAULT.to_owned());
    for entry in platform.store.entries(tenant, &emitter, &stream, query).await? {
        if Recording::decode(&entry.value)?.run_ids.last().is_some_and(|last| last == run_id.as_str()) {
            let id = Some(entry.id);
            return Ok(Some(Op::DeleteEntries { emitter, stream, first: id, last: id, max: 1 }));
        }
    }
    Ok(None)
}

/// Of the run at this place.
pub(crate) fn read(platform: &Platform, tenant: &Tenant, recording: &Recording, at: usize) -> Result<Content, Error> {
    let opened = platform.vault.open_bytes(context(tenant, recording.sealed_for()), &recording.sealed)?;
    packing::unpack(opened.expose(), at, platform.hosts().reads())
}

pub(crate) fn context<'a>(tenant: &'a Tenant, run_id: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record: run_id, field: FIELD }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn append_to(self, batch: &mut Batch) {
        match self {
            Self::Part(part) => batch.parts.push(part),
            Self::Alone(operation) => batch.operations.push(operation),
        }
    }
}

/// A reply as it is compared.
#[derive(Serialize)]
struct ShownReply<'a> {
    status: u16,
    headers: &'a [(String, String)],
    body: Cow<'a, str>,
}

pub(crate) fn deeds_of(outcome: &Outcome, reply: Option<&Reply>) -> Result<Deeds, Error> {
    Ok(Deeds::of(outcome, reply.map(ShownReply::of).as_ref()).map_err(unwritable)?)
}

fn unwritable(source: serde_json::Error) -> RecordError {
    RecordError::Unwritable { kind: FIELD, source }
}

impl<'a> ShownReply<'a> {
    fn of(reply: &'a Reply) -> Self {
        Self { status: reply.status, headers: &reply.headers, body: String::from_utf8_lossy(&reply.body) }
    }
}

impl Content {
    pub(crate) fn answers(&self) -> bytes::Bytes {
        self.answers.clone().into()
    }

    /// The event or the steps that the run was given.
    pub(crate) fn input(&self) -> Value {
        let call: Value = serde_json::from_str(&self.call).unwrap_or_default();
        call.get("event").or_else(|| call.get("steps")).cloned().unwrap_or_default()
    }
}
