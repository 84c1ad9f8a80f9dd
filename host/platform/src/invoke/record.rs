//! The record of a run, written in the batch that the run commits anyway.

use domain::plan::Plan;
use domain::runs::{Facts, Recording};
use store::Op;

use super::Invocation;
use super::commit::Frame;
use super::transaction::Transaction;
use crate::ports::Outcome;
use crate::records::{RunRecord, StreamEntry, names};
use crate::{Error, Platform};

pub(super) fn record_operation(
    platform: &Platform,
    invocation: &Invocation<'_>,
    (transaction, recording): (&Transaction, Recording),
    (outcome, plan): (&Outcome, &Plan),
    frame: &Frame,
) -> Result<Option<Op>, Error> {
    let facts = Facts {
        id: transaction.run_id().clone(),
        emitter_id: invocation.target.id,
        version: &invocation.target.description.version,
        trigger: invocation.trigger.clone(),
        trace_id: frame.cause.trace_id,
        queued_at_ms: invocation.queued_at_ms,
        ended_at_ms: platform.clock.now_ms(),
        reply_status: invocation.reply.as_ref().and_then(|slot| slot.status()),
        recording,
    };
    let emit_ids = plan.events.iter().map(|planned| planned.event.metadata.emit_id.clone());
    append_record(platform, &RunRecord::new(facts, outcome, emit_ids))
}

/// None when records of runs are switched off.
pub(crate) fn append_record(platform: &Platform, record: &RunRecord) -> Result<Option<Op>, Error> {
    let keep = u32::try_from(platform.config.limits.runs_kept).unwrap_or(u32::MAX);
    if keep == 0 {
        return Ok(None);
    }
    let (emitter, stream) = (record.emitter_id.clone(), names::RUNS.to_owned());
    Ok(Some(Op::Append { emitter, stream, value: record.encode()?, keep }))
}
