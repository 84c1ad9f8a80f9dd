//! The record of a run, written in the batch that the run commits anyway.

use domain::plan::Plan;
use domain::redact::Hidden;
use domain::retention::RunRetention;
use domain::runs::{Facts, Recording};
use store::{EntryId, EntryQuery, Op, Order, Tenant};

use super::commit::Frame;
use super::recording::delete_of_run;
use super::transaction::Transaction;
use super::{Invocation, Values};
use crate::ports::{Call, Outcome};
use crate::records::{RunRecord, StreamEntry, names};
use crate::{Error, Platform};

/// Expired records that go with one record at least: more than it adds, so that they come to an end.
pub(crate) const EXPIRED_AT_ONCE: u32 = 4;

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
    let mut record = RunRecord::new(facts, outcome, emit_ids);
    redact(&mut record, invocation);
    append_record(platform, invocation.target.retention(), &record)
}

/// Here, so that no list, stream or listener has what is hidden of the event.
fn redact(record: &mut RunRecord, invocation: &Invocation<'_>) {
    let Values::Stored(source) = &invocation.target.values else { return };
    let Call::Run { event } = &invocation.call else { return };
    if !source.redaction.is_empty() {
        let mut hidden = Hidden::default();
        source.redaction.apply(&mut event.to_value(), &mut hidden);
        record.mask(&hidden);
    }
}

/// None when records of runs are switched off.
pub(crate) fn append_record(
    platform: &Platform,
    retention: RunRetention,
    record: &RunRecord,
) -> Result<Option<Op>, Error> {
    let keep = retention.kept(platform.config.limits.runs_kept);
    if keep == 0 {
        return Ok(None);
    }
    let (emitter, stream) = (record.emitter_id.clone(), names::RUNS.to_owned());
    Ok(Some(Op::Append { emitter, stream, value: record.encode()?, keep }))
}

/// Deletes the oldest records that are older than they may be, so many at most, with their recordings. Where age does not matter, nothing
/// is read.
pub(crate) async fn expire_records(
    platform: &Platform,
    tenant: &Tenant,
    emitter: &str,
    retention: RunRetention,
    at_once: u32,
) -> Result<Vec<Op>, Error> {
    let limits = &platform.config.limits;
    let oldest_ms = retention.oldest_ms(limits.runs_kept_seconds, platform.clock.now_ms());
    let Some(last_ms) = oldest_ms.and_then(|oldest_ms| oldest_ms.checked_sub(1)) else {
        return Ok(Vec::new());
    };
    let last = Some(EntryId::new(last_ms, u32::MAX));
    let query = EntryQuery { first: None, last, order: Order::OldestFirst, limit: at_once };
    let expired = platform.store.entries(tenant, emitter, names::RUNS, query).await?;
    let Some(newest) = expired.last() else { return Ok(Vec::new()) };
    let (emitter, stream) = (emitter.to_owned(), names::RUNS.to_owned());
    let mut operations = vec![Op::DeleteEntries { emitter, stream, first: None, last: Some(newest.id), max: at_once }];
    for entry in &expired {
        let record = RunRecord::decode(&entry.value)?;
        if record.recording == Recording::Kept {
            operations.extend(delete_of_run(platform, tenant, &record.id).await?);
        }
    }
    Ok(operations)
}
