//! Whether a batch is one that every engine takes: within bounds, and without contradictions.

use std::collections::HashMap;

use bytes::Bytes;

use super::{Batch, Enqueue, EntryRef, MAX_MS, MAX_NAME_BYTES, MAX_OPERATIONS, MAX_VALUE_BYTES, Op, Precondition};
use crate::{CommitError, Lease, PART_BYTES_MAXIMUM, Part};

/// Why a batch is not a batch. Our bug, or a limit the layer above should have checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("{found} operations, at most {MAX_OPERATIONS} are allowed")]
    TooManyOperations { found: usize },
    #[error("a name is {found} bytes long, 1 to {MAX_NAME_BYTES} are allowed")]
    NameLength { found: usize },
    #[error("a value is {found} bytes long, at most {MAX_VALUE_BYTES} are allowed")]
    ValueTooLong { found: usize },
    #[error("a part of an entry is {found} bytes long, at most {PART_BYTES_MAXIMUM} are allowed")]
    PartTooLong { found: usize },
    #[error("a job is about append number {index}, which does not come before it")]
    DanglingEntry { index: usize },
    #[error("a time of {found} milliseconds, at most {MAX_MS} are allowed")]
    TimeTooLarge { found: u64 },
    #[error("a batch that clears a scope does nothing else to it")]
    ClearIsNotAlone,
    #[error("a job of a lane cannot be held by its host")]
    HeldInLane,
    #[error("a batch that locks or unlocks names no owner")]
    NoLockOwner,
}

// === impl Batch ===

impl Batch {
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        self.check_shape().map_err(CommitError::Invalid)
    }

    pub(super) fn check_shape(&self) -> Result<(), Invalid> {
        let found = self.operations.len() + self.preconditions.len() + self.parts.len();
        if found > MAX_OPERATIONS {
            return Err(Invalid::TooManyOperations { found });
        }
        time(Some(self.now_ms))?;
        names(self.lock_owner.as_slice())?;
        for precondition in &self.preconditions {
            precondition.check()?;
        }
        self.parts.iter().try_for_each(Part::check)?;
        let mut appends = 0;
        for operation in &self.operations {
            operation.check()?;
            match operation {
                Op::Append { .. } => appends += 1,
                Op::Enqueue(Enqueue { entry: Some(EntryRef::InBatch(index)), .. }) if *index >= appends => {
                    return Err(Invalid::DanglingEntry { index: *index });
                }
                Op::Lock { .. } | Op::Unlock { .. } if self.lock_owner.is_none() => return Err(Invalid::NoLockOwner),
                _ => {}
            }
        }
        self.check_clears()
    }

    /// Which values a bounded clear removes is not said, so nothing may depend on it.
    fn check_clears(&self) -> Result<(), Invalid> {
        let cleared = |operation: &Op| matches!(operation, Op::ClearScope { .. });
        if !self.operations.iter().any(cleared) {
            return Ok(());
        }
        let mut seen: HashMap<&str, bool> = HashMap::new();
        for operation in &self.operations {
            let (Op::SetValue { scope, .. } | Op::RemoveValue { scope, .. } | Op::ClearScope { scope, .. }) = operation
            else {
                continue;
            };
            let before = seen.insert(scope, cleared(operation));
            if before == Some(true) || (before.is_some() && cleared(operation)) {
                return Err(Invalid::ClearIsNotAlone);
            }
        }
        Ok(())
    }
}

impl Enqueue {
    fn check(&self) -> Result<(), Invalid> {
        time(Some(self.available_ms()))?;
        names(self.lane.as_slice())?;
        if self.held_until_ms.is_some() && self.lane.is_some() {
            return Err(Invalid::HeldInLane);
        }
        length(&self.payload)
    }
}

impl Precondition {
    fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::RecordVersion { kind, id, .. } | Self::RecordAbsent { kind, id } => names(&[kind, id]),
            Self::AliasFree { kind, alias } => names(&[kind, alias]),
            Self::ListIs { kind, .. } => names(&[kind]),
            Self::LeaseHeld(Lease::Timer(lease)) => names(&[&lease.timer]),
            Self::LeaseHeld(Lease::Job(_)) | Self::QueueFits { .. } => Ok(()),
            Self::CounterBelow { counter, .. } => names(&[counter]),
            Self::ValueIs { scope, key, value } => {
                names(&[scope, key])?;
                value.as_ref().map_or(Ok(()), length)
            }
        }
    }
}

impl Part {
    fn check(&self) -> Result<(), Invalid> {
        names(&[&*self.of.emitter, &*self.of.stream, self.of.group.as_str()])?;
        match self.content.len() {
            found if found > PART_BYTES_MAXIMUM => Err(Invalid::PartTooLong { found }),
            _ => Ok(()),
        }
    }
}

impl Op {
    fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::PutRecord { kind, id, alias, value } => {
                names(&[kind, id])?;
                names(alias.as_slice())?;
                length(value)
            }
            Self::DeleteRecord { kind, id } => names(&[kind, id]),
            Self::Append { emitter, stream, value, .. } => {
                names(&[emitter, stream])?;
                length(value)
            }
            Self::DeleteEntries { emitter, stream, .. } => names(&[emitter, stream]),
            Self::DropEmitter { emitter, .. } => names(&[emitter]),
            Self::SetValue { scope, key, value, .. } => {
                names(&[scope, key])?;
                length(value)
            }
            Self::RemoveValue { scope, key } => names(&[scope, key]),
            Self::ClearScope { scope, .. } | Self::Unlock { scope } => names(&[scope]),
            Self::Lock { scope, key, until_ms } => {
                names(&[scope, key])?;
                time(Some(*until_ms))
            }
            Self::Count { counter, expires_ms, .. } => {
                names(&[counter])?;
                time(*expires_ms)
            }
            Self::Enqueue(job) => job.check(),
            Self::Reschedule { payload, due_ms, .. } => {
                time(Some(*due_ms))?;
                payload.as_ref().map_or(Ok(()), length)
            }
            Self::SetTimer { timer, schedule, due_ms } => {
                time(Some(*due_ms))?;
                names(&[timer])?;
                length(schedule)
            }
            Self::ClearTimer { timer } => names(&[timer]),
            Self::FinishTick { lease, next_due_ms } => {
                names(&[&lease.timer])?;
                time(*next_due_ms)
            }
            Self::Acknowledge(_) => Ok(()),
        }
    }
}

fn names<Text: AsRef<str>>(names: &[Text]) -> Result<(), Invalid> {
    for name in names {
        let found = name.as_ref().len();
        if found == 0 || found > MAX_NAME_BYTES {
            return Err(Invalid::NameLength { found });
        }
    }
    Ok(())
}

fn length(value: &Bytes) -> Result<(), Invalid> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(Invalid::ValueTooLong { found: value.len() });
    }
    Ok(())
}

fn time(ms: Option<u64>) -> Result<(), Invalid> {
    match ms {
        Some(found) if found > MAX_MS => Err(Invalid::TimeTooLarge { found }),
        _ => Ok(()),
    }
}
