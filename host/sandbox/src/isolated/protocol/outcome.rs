//! An outcome as bytes.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{read_writes, write_writes};
use crate::isolated::codec::{Decoder, Encoder, Malformed};
use crate::limits::{LimitKind, Limits};
use crate::outcome::{Effect, EffectKind, Emit, EmitMetadata, Fault, Outcome, Thrown, Usage};
use crate::tape::Recording;

/// An outcome to be written. Logs and the reply are not in it: they were sent as they came.
pub(in crate::isolated) struct Written<'a>(pub(in crate::isolated) &'a Outcome);

// === impl Written ===

impl Written<'_> {
    pub(in crate::isolated) fn write(&self, to: &mut Encoder<'_>) {
        let outcome = self.0;
        to.option(outcome.returned.as_deref(), |to, json| to.text(json.get()));
        to.list(outcome.emits.iter(), write_emit);
        write_writes(to, outcome.writes.iter());
        to.list(outcome.effects.iter(), |to, effect| {
            to.u8(EFFECTS.iter().position(|kind| *kind == effect.kind).unwrap_or_default() as u8);
            to.text(effect.parameters.get());
        });
        write_usage(to, &outcome.usage);
        to.option(outcome.fault.as_ref(), write_fault);
        to.option(outcome.recording.as_ref(), |to, recording| match recording {
            Recording::Kept(bytes) => to.option(Some(bytes.as_ref()), Encoder::bytes),
            Recording::Truncated => to.option(None, Encoder::bytes),
        });
    }
}

/// Texts that should be JSON are checked to be, as they are when a run is in this process.
pub(super) fn read(from: &mut Decoder, limits: &Limits) -> Result<Outcome, Malformed> {
    Ok(Outcome {
        returned: from.option(read_json)?,
        emits: from.list(limits.emits, read_emit)?,
        writes: read_writes(from)?,
        logs: Vec::new(),
        effects: from.list(limits.effects, read_effect)?,
        has_replied: false,
        usage: read_usage(from)?,
        fault: from.option(read_fault)?,
        recording: from.option(|from| read_recording(from, limits))?,
    })
}

fn read_recording(from: &mut Decoder, limits: &Limits) -> Result<Recording, Malformed> {
    match from.option(Decoder::bytes)? {
        Some(bytes) if bytes.len() > limits.recording_bytes => Err(Malformed("a recording that is too large")),
        Some(bytes) => Ok(Recording::Kept(bytes)),
        None => Ok(Recording::Truncated),
    }
}

pub(super) fn write_usage(to: &mut Encoder<'_>, usage: &Usage) {
    to.u64(usage.fuel);
    write_duration(to, usage.cpu);
    write_duration(to, usage.wall_clock);
    to.size(usage.peak_memory_bytes);
}

pub(super) fn read_usage(from: &mut Decoder) -> Result<Usage, Malformed> {
    Ok(Usage {
        fuel: from.u64()?,
        cpu: Duration::from_nanos(from.u64()?),
        wall_clock: Duration::from_nanos(from.u64()?),
        peak_memory_bytes: from.size()?,
    })
}

fn read_json(from: &mut Decoder) -> Result<Box<RawValue>, Malformed> {
    RawValue::from_string(from.text()?).map_err(|_| NOT_JSON)
}

fn write_emit(to: &mut Encoder<'_>, emit: &Emit) {
    let EmitMetadata { id, name, summary, ts, delivery_ts } = &emit.metadata;
    to.text(emit.event.get());
    to.option(id.as_ref(), |to, id| to.text(&id.to_string()));
    to.option(name.as_deref(), Encoder::text);
    to.option(summary.as_deref(), Encoder::text);
    to.option(*ts, Encoder::f64);
    to.option(*delivery_ts, Encoder::f64);
}

fn read_emit(from: &mut Decoder) -> Result<Emit, Malformed> {
    let event = read_json(from)?;
    let id = from.option(|from| serde_json::from_slice(&from.bytes()?).map_err(|_| NOT_JSON))?;
    let (name, summary) = (from.option(Decoder::text)?, from.option(Decoder::text)?);
    let (ts, delivery_ts) = (from.option(read_finite)?, from.option(read_finite)?);
    Ok(Emit { event, metadata: EmitMetadata { id, name, summary, ts, delivery_ts } })
}

/// JSON knows no other numbers.
fn read_finite(from: &mut Decoder) -> Result<f64, Malformed> {
    Some(from.f64()?).filter(|number| number.is_finite()).ok_or(NOT_JSON)
}

const EFFECTS: [EffectKind; 8] = [
    EffectKind::Export,
    EffectKind::Respond,
    EffectKind::Exit,
    EffectKind::SendHttp,
    EffectKind::SendEmail,
    EffectKind::SendS3,
    EffectKind::SendEmit,
    EffectKind::SendSse,
];

fn read_effect(from: &mut Decoder) -> Result<Effect, Malformed> {
    let kind = EFFECTS.get(from.u8()? as usize).copied().ok_or(Malformed("an unknown effect"))?;
    Ok(Effect { kind, parameters: read_json(from)? })
}

const LIMIT_KINDS: [LimitKind; 16] = [
    LimitKind::Emits,
    LimitKind::EventBytes,
    LimitKind::EmittedBytes,
    LimitKind::LogLines,
    LimitKind::LogBytes,
    LimitKind::DbValueBytes,
    LimitKind::DbKeyBytes,
    LimitKind::DbWrittenBytes,
    LimitKind::ReplyBytes,
    LimitKind::ReplyHeaders,
    LimitKind::ReplyHeaderBytes,
    LimitKind::Effects,
    LimitKind::Requests,
    LimitKind::SentBytes,
    LimitKind::ReceivedBytes,
    LimitKind::ImageBytes,
];

pub(super) fn write_fault(to: &mut Encoder<'_>, fault: &Fault) {
    match fault {
        Fault::Threw(thrown) => {
            to.u8(0);
            write_thrown(to, thrown);
        }
        Fault::OutOfFuel { limit } => {
            to.u8(1);
            to.u64(*limit);
        }
        Fault::Deadline { limit } => {
            to.u8(2);
            write_duration(to, *limit);
        }
        Fault::OutOfMemory { limit_bytes } => {
            to.u8(3);
            to.size(*limit_bytes);
        }
        Fault::TooMuchOutput { what, limit } => {
            to.u8(4);
            to.u8(LIMIT_KINDS.iter().position(|kind| kind == what).unwrap_or_default() as u8);
            to.size(*limit);
        }
        Fault::Trap { reason } => {
            to.u8(5);
            to.text(reason);
        }
        Fault::Diverged { asked, recorded } => {
            to.u8(6);
            to.text(asked);
            to.text(recorded);
        }
        Fault::RecordingEnded => to.u8(7),
    }
}

pub(super) fn read_fault(from: &mut Decoder) -> Result<Fault, Malformed> {
    Ok(match from.u8()? {
        0 => Fault::Threw(read_thrown(from)?),
        1 => Fault::OutOfFuel { limit: from.u64()? },
        2 => Fault::Deadline { limit: Duration::from_nanos(from.u64()?) },
        3 => Fault::OutOfMemory { limit_bytes: from.size()? },
        4 => {
            let what = LIMIT_KINDS.get(from.u8()? as usize).copied().ok_or(Malformed("an unknown limit"))?;
            Fault::TooMuchOutput { what, limit: from.size()? }
        }
        5 => Fault::Trap { reason: from.text()? },
        6 => Fault::Diverged { asked: from.text()?, recorded: from.text()? },
        7 => Fault::RecordingEnded,
        _ => return Err(Malformed("an unknown fault")),
    })
}

pub(super) fn write_thrown(to: &mut Encoder<'_>, thrown: &Thrown) {
    // Plain structs of texts and numbers always have a JSON form.
    to.text(&serde_json::to_string(thrown).unwrap_or_default());
}

pub(super) fn read_thrown(from: &mut Decoder) -> Result<Thrown, Malformed> {
    serde_json::from_slice(&from.bytes()?).map_err(|_| NOT_JSON)
}

fn write_duration(to: &mut Encoder<'_>, duration: Duration) {
    to.u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
}

const NOT_JSON: Malformed = Malformed("text that is not the JSON it should be");
