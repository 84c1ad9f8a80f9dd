//! Keeps what a run can be repeated from: its call, the host's answers, and what it did, compressed and sealed.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::outcome::Recorded;
use domain::replay::Deeds;
use domain::runs::{Recording as Kept, RecordingMode};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Op, Page, Tenant};

use super::execute::Executed;
use super::{Invocation, Values};
use crate::ports::{Reply, RunLimits};
use crate::records::{RecordError, Recording, Tape, table};
use crate::vault::Context;
use crate::{Error, Platform};

pub(crate) const FIELD: &str = "tape";
/// Against content that inflates without end; far above what is recorded.
const INFLATED_MAXIMUM: u64 = 256 << 20;

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
    pub(super) operations: Vec<Op>,
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
        _ if limits.recordings_kept == 0 || limits.runs_kept == 0 => 0,
        _ => limits.recording_bytes,
    }
}

/// Decides whether the run's recording is kept, and how.
pub(super) async fn keep(
    platform: &Platform,
    invocation: &Invocation<'_>,
    executed: &Executed,
) -> Result<Keeping, Error> {
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
        (Some(Recorded::Truncated), _) if is_wanted => Ok(Keeping { operations: Vec::new(), state: Kept::Truncated }),
        (Some(Recorded::Kept(answers)), Some(call)) if is_wanted => {
            let operations = write(platform, invocation, executed, answers, call).await?;
            Ok(Keeping { operations, state: Kept::Kept })
        }
        _ => Ok(Keeping::default()),
    }
}

async fn write(
    platform: &Platform,
    invocation: &Invocation<'_>,
    executed: &Executed,
    answers: &[u8],
    call: &str,
) -> Result<Vec<Op>, Error> {
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
    let sealed = platform.vault.seal(context(tenant, &run_id), &compress(&content)?)?;
    let recording = Recording {
        run_id: run_id.clone(),
        emitter_id: invocation.target.id.to_owned(),
        origin: invocation.target.origin,
        program: invocation.target.program.to_owned(),
        created_at_ms: platform.clock.now_ms(),
    };
    let mut operations = vec![table::put(&recording)?, table::put(&Tape { run_id, sealed })?];
    operations.extend(make_room(platform, tenant).await?);
    Ok(operations)
}

/// Deletes the oldest recording when the tenant has as many as are kept.
async fn make_room(platform: &Platform, tenant: &Tenant) -> Result<Vec<Op>, Error> {
    // Nothing precedes position 0, so the page after it holds the oldest.
    let oldest = Page { after: None, before: Some(0), limit: 1 };
    let oldest = table::list::<Recording>(&*platform.store, tenant, oldest).await?;
    if oldest.total < platform.config.limits.recordings_kept as u64 {
        return Ok(Vec::new());
    }
    Ok(oldest.items.first().map(|kept| delete(&kept.record)).into_iter().flatten().collect())
}

/// Both of its records.
pub(crate) fn delete(recording: &Recording) -> [Op; 2] {
    use crate::records::Stored;
    let id = recording.run_id.clone();
    [table::delete(recording), Op::DeleteRecord { kind: Tape::KIND.to_owned(), id }]
}

pub(crate) fn read(platform: &Platform, tenant: &Tenant, tape: &Tape) -> Result<Content, Error> {
    let opened = platform.vault.open(context(tenant, &tape.run_id), &tape.sealed)?;
    let damaged = |error: std::io::Error| malformed(serde::de::Error::custom(error));
    let mut text = Vec::new();
    DeflateDecoder::new(opened.expose().as_slice()).take(INFLATED_MAXIMUM).read_to_end(&mut text).map_err(damaged)?;
    Ok(serde_json::from_slice(&text).map_err(malformed)?)
}

fn compress(content: &Content) -> Result<Vec<u8>, Error> {
    let unwritable = |source| RecordError::Unwritable { kind: FIELD, source };
    let text = serde_json::to_vec(content).map_err(unwritable)?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(&text).and_then(|()| encoder.finish());
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
