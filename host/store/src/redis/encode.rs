//! A batch as the flat arguments of the commit script: binary safe, nothing to parse but lengths.

use std::fmt::Display;
use std::io::Write as _;

use ::redis::{RedisWrite, ToRedisArgs};

use crate::batch::counter_range;
use crate::{Batch, Enqueue, EntryId, EntryRef, JobId, LanePosition, Lease, Op, Partition, Precondition, Shares};

/// Arguments of a script, one after the other in one piece of memory.
#[derive(Default)]
pub(super) struct Arguments {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// See the head of `commit.lua` for the layout; the group puts the number of arguments before them.
pub(super) fn batch(batch: &Batch, partition: Partition) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.text(batch.tenant.as_str()).number(batch.now_ms);
    arguments.number(batch.preconditions.len()).number(batch.operations.len());
    arguments.number(partition.index());
    arguments.text(batch.lock_owner.as_deref().unwrap_or_default());
    for precondition in &batch.preconditions {
        push_precondition(&mut arguments, batch, precondition);
    }
    for operation in &batch.operations {
        push_operation(&mut arguments, operation, batch.now_ms);
    }
    arguments
}

/// Names that stand in the middle of a key: without a colon, so that no two keys are the same.
pub(super) fn escape(name: &str) -> String {
    name.replace('%', "%25").replace(':', "%3A")
}

/// Of equal length, so that they sort as text the way they sort as numbers.
pub(super) fn job(id: JobId) -> String {
    format!("{:016}", id.0)
}

/// A stream range as Redis writes it.
pub(super) fn range(first: Option<EntryId>, last: Option<EntryId>) -> (String, String) {
    (
        first.map_or_else(|| "-".to_owned(), |id| id.to_string()),
        last.map_or_else(|| "+".to_owned(), |id| id.to_string()),
    )
}

// === impl Arguments ===

impl Arguments {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes())
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.end()
    }

    pub(super) fn number(&mut self, number: impl Display) -> &mut Self {
        // Memory takes whatever is written to it.
        let _ = write!(self.bytes, "{number}");
        self.end()
    }

    pub(super) fn append(&mut self, more: &Self) -> &mut Self {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&more.bytes);
        self.ends.extend(more.ends.iter().map(|end| begin + end));
        self
    }

    pub(super) fn optional(&mut self, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.number(number),
            None => self.text(""),
        }
    }

    fn end(&mut self) -> &mut Self {
        self.ends.push(self.bytes.len());
        self
    }
}

impl ToRedisArgs for Arguments {
    fn write_redis_args<Out: ?Sized + RedisWrite>(&self, out: &mut Out) {
        let mut begin = 0;
        for end in &self.ends {
            out.write_arg(self.bytes.get(begin..*end).unwrap_or_default());
            begin = *end;
        }
    }

    fn num_of_args(&self) -> usize {
        self.len()
    }
}

fn push_precondition(to: &mut Arguments, batch: &Batch, precondition: &Precondition) {
    match precondition {
        Precondition::RecordVersion { kind, id, version } => {
            to.text("version").text(&escape(kind)).text(id).number(version)
        }
        Precondition::RecordAbsent { kind, id } => to.text("absent").text(&escape(kind)).text(id),
        Precondition::AliasFree { kind, alias } => to.text("alias").text(&escape(kind)).text(alias),
        Precondition::ListIs { kind, newest, total } => {
            to.text("list").text(&escape(kind)).optional(*newest).number(total)
        }
        Precondition::CounterBelow { counter, limit } => to.text("below").text(counter).number(limit),
        Precondition::QueueFits { jobs, bytes } => match batch.room_before(*jobs, *bytes) {
            Some(room) => to.text("room").number(room.jobs).number(room.bytes),
            None => to.text("room").number(-1).number(-1),
        },
        Precondition::ValueIs { scope, key, value } => {
            let exists = u8::from(value.is_some());
            to.text("value").text(scope).text(key).number(exists).raw(value.as_deref().unwrap_or_default())
        }
        Precondition::LeaseHeld(Lease::Job(lease)) => to.text("job").text(&job(lease.job)).number(lease.token),
        Precondition::LeaseHeld(Lease::Timer(lease)) => to.text("timer").text(&lease.timer).number(lease.token),
    };
}

fn push_operation(to: &mut Arguments, operation: &Op, now_ms: u64) {
    match operation {
        Op::PutRecord { kind, id, alias, value } => {
            to.text("put").text(&escape(kind)).text(id).text(alias.as_deref().unwrap_or_default()).raw(value)
        }
        Op::DeleteRecord { kind, id } => to.text("delete").text(&escape(kind)).text(id),
        Op::Append { emitter, stream, value, keep } => {
            to.text("append").text(&escape(emitter)).text(stream).raw(value).number(keep)
        }
        Op::DeleteEntries { emitter, stream, first, last, max } => {
            let (first, last) = range(*first, *last);
            to.text("delete_entries").text(&escape(emitter)).text(stream).text(&first).text(&last).number(max)
        }
        Op::DropEmitter { emitter, max } => to.text("drop_emitter").text(&escape(emitter)).number(max),
        Op::SetValue { scope, key, value, cap_bytes } => {
            to.text("set").text(scope).text(key).raw(value).number(cap_bytes)
        }
        Op::RemoveValue { scope, key } => to.text("remove").text(scope).text(key),
        Op::Lock { scope, key, until_ms } => to.text("lock").text(scope).text(key).number(until_ms),
        Op::Unlock { scope } => to.text("unlock").text(scope),
        Op::ClearScope { scope, max } => to.text("clear").text(scope).number(max),
        Op::Count { counter, amount, expires_ms } => {
            // Relative, because the server's clock is not the caller's. At least a moment.
            let lives_ms = expires_ms.map(|at| at.saturating_sub(now_ms).max(1));
            to.text("count").text(counter).number(counter_range(*amount)).optional(lives_ms)
        }
        Op::Enqueue(enqueue) => push_job(to, enqueue),
        Op::Acknowledge(lease) => to.text("acknowledge").text(&job(lease.job)).number(lease.token),
        Op::Reschedule { lease, due_ms, payload, lane_position } => {
            let lane_position = match lane_position {
                LanePosition::Keep => "keep",
                LanePosition::Leave => "leave",
            };
            to.text("reschedule").text(&job(lease.job)).number(lease.token).number(due_ms).text(lane_position);
            to.number(u8::from(payload.is_some())).raw(payload.as_deref().unwrap_or_default())
        }
        Op::SetTimer { timer, due_ms, schedule } => to.text("set_timer").text(timer).number(due_ms).raw(schedule),
        Op::ClearTimer { timer } => to.text("clear_timer").text(timer),
        Op::FinishTick { lease, next_due_ms } => {
            to.text("finish").text(&lease.timer).number(lease.token).optional(*next_due_ms)
        }
    };
}

pub(super) fn shares(shares: &Shares) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.number(shares.each);
    for (tenant, count) in &shares.under_way {
        arguments.text(tenant.as_str()).number(count);
    }
    arguments
}

fn push_job<'to>(to: &'to mut Arguments, enqueue: &Enqueue) -> &'to mut Arguments {
    to.text("enqueue").text(enqueue.lane.as_deref().unwrap_or_default()).number(enqueue.due_ms);
    to.number(enqueue.available_ms());
    match enqueue.entry {
        Some(EntryRef::InBatch(index)) => to.number(format_args!("#{index}")),
        Some(EntryRef::Id(id)) => to.number(id),
        None => to.text(""),
    };
    to.raw(&enqueue.payload)
}
