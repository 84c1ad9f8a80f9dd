//! A batch as the flat arguments of the commit script: binary safe, nothing to parse but lengths.

use crate::batch::counter_range;
use crate::pulse::Touched;
use crate::{Batch, Enqueue, EntryId, EntryRef, JobId, Lease, Op, Place, Precondition};

type Argument = Vec<u8>;

/// See the head of `commit_check.lua` for the layout.
pub(super) fn batch(batch: &Batch, touched: &Touched, name: &str, channel: &str) -> Vec<Argument> {
    let pulses = pulses(batch, touched);
    let mut arguments = vec![batch.tenant.as_str().into(), number(&batch.now_ms), name.into(), channel.into()];
    for count in [batch.preconditions.len(), batch.operations.len(), pulses.len()] {
        arguments.push(number(&count));
    }
    for precondition in &batch.preconditions {
        push(&mut arguments, encode_precondition(precondition));
    }
    for operation in &batch.operations {
        push(&mut arguments, encode_operation(operation, batch.now_ms));
    }
    for pulse in pulses {
        push(&mut arguments, vec![pulse]);
    }
    arguments
}

/// Names that stand in the middle of a key: without a colon, so that no two keys are the same.
pub(super) fn escape(name: &str) -> String {
    name.replace('%', "%25").replace(':', "%3A")
}

/// Of equal length, so that they sort as text the way they sort as numbers.
pub(super) fn job(id: JobId) -> Argument {
    format!("{:016}", id.0).into()
}

fn pulses(batch: &Batch, touched: &Touched) -> Vec<Argument> {
    let events = touched.emitters.iter().map(|emitter| format!("e:{}:{emitter}", batch.tenant).into());
    touched.has_work.then(|| Argument::from(*b"w")).into_iter().chain(events).collect()
}

fn push(arguments: &mut Vec<Argument>, parts: Vec<Argument>) {
    arguments.push(number(&parts.len()));
    arguments.extend(parts);
}

fn encode_precondition(precondition: &Precondition) -> Vec<Argument> {
    match precondition {
        Precondition::RecordVersion { kind, id, version } => {
            vec![text("version"), text(&escape(kind)), text(id), number(version)]
        }
        Precondition::RecordAbsent { kind, id } => vec![text("absent"), text(&escape(kind)), text(id)],
        Precondition::AliasFree { kind, alias } => vec![text("alias"), text(&escape(kind)), text(alias)],
        Precondition::CounterBelow { counter, limit } => vec![text("below"), text(counter), number(limit)],
        Precondition::LeaseHeld(Lease::Job(lease)) => vec![text("job"), job(lease.job), number(&lease.token)],
        Precondition::LeaseHeld(Lease::Timer(lease)) => vec![text("timer"), text(&lease.timer), number(&lease.token)],
    }
}

fn encode_operation(operation: &Op, now_ms: u64) -> Vec<Argument> {
    match operation {
        Op::PutRecord { kind, id, alias, value } => {
            let alias = alias.as_deref().unwrap_or_default();
            vec![text("put"), text(&escape(kind)), text(id), text(alias), value.to_vec()]
        }
        Op::DeleteRecord { kind, id } => vec![text("delete"), text(&escape(kind)), text(id)],
        Op::Append { emitter, stream, value, keep } => {
            vec![text("append"), text(&escape(emitter)), text(stream), value.to_vec(), number(keep)]
        }
        Op::DeleteEntries { emitter, stream, first, last, max } => {
            let (first, last) = range(*first, *last);
            vec![text("delete_entries"), text(&escape(emitter)), text(stream), first, last, number(max)]
        }
        Op::DropEmitter { emitter, max } => vec![text("drop_emitter"), text(&escape(emitter)), number(max)],
        Op::SetValue { scope, key, value, cap_bytes } => {
            vec![text("set"), text(scope), text(key), value.to_vec(), number(cap_bytes)]
        }
        Op::RemoveValue { scope, key } => vec![text("remove"), text(scope), text(key)],
        Op::ClearScope { scope, max } => vec![text("clear"), text(scope), number(max)],
        Op::Count { counter, amount, expires_ms } => {
            // Relative, because the server's clock is not the caller's. At least a moment.
            let lives_ms = expires_ms.map(|at| at.saturating_sub(now_ms).max(1));
            vec![text("count"), text(counter), number(&counter_range(*amount)), optional(lives_ms)]
        }
        Op::Enqueue(enqueue) => encode_job(enqueue),
        Op::Acknowledge(lease) => vec![text("acknowledge"), job(lease.job), number(&lease.token)],
        Op::Reschedule { lease, due_ms, payload, place } => {
            let place = match place {
                Place::Keep => "keep",
                Place::Leave => "leave",
            };
            let mut parts = vec![text("reschedule"), job(lease.job), number(&lease.token), number(due_ms), text(place)];
            parts.extend(payload.as_ref().map(|payload| payload.to_vec()));
            parts
        }
        Op::SetTimer { timer, due_ms, schedule } => {
            vec![text("set_timer"), text(timer), number(due_ms), schedule.to_vec()]
        }
        Op::ClearTimer { timer } => vec![text("clear_timer"), text(timer)],
        Op::FinishTick { lease, next_due_ms } => {
            vec![text("finish"), text(&lease.timer), number(&lease.token), optional(*next_due_ms)]
        }
    }
}

fn encode_job(enqueue: &Enqueue) -> Vec<Argument> {
    let entry = match enqueue.entry {
        Some(EntryRef::InBatch(index)) => format!("#{index}").into(),
        Some(EntryRef::Id(id)) => number(&id),
        None => Argument::new(),
    };
    let lane = enqueue.lane.as_deref().unwrap_or_default();
    vec![text("enqueue"), text(lane), number(&enqueue.due_ms), entry, enqueue.payload.to_vec()]
}

/// A stream range as Redis writes it.
pub(super) fn range(first: Option<EntryId>, last: Option<EntryId>) -> (Argument, Argument) {
    (first.as_ref().map_or_else(|| text("-"), number), last.as_ref().map_or_else(|| text("+"), number))
}

pub(super) fn number(number: &impl ToString) -> Argument {
    number.to_string().into()
}

pub(super) fn text(text: &str) -> Argument {
    text.into()
}

fn optional(value: Option<u64>) -> Argument {
    value.as_ref().map_or_else(Argument::new, number)
}
