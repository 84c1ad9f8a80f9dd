//! Entries that become one: what several batches append to a stream in one transaction, made into one value.
//!
//! To compress and seal many short texts that are alike at once costs a fraction of doing it one by one. Which batches meet
//! only the engine knows, so it asks for the value when it writes it. An engine that writes entries one by one asks for each.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Batch, CommitError, Error, Op, Tenant};

/// Parts of one entry, and their bytes: the value is made by the one thread that writes, and read with all of its parts.
pub const PARTS_MAXIMUM: usize = 32;
pub const PART_BYTES_MAXIMUM: usize = 4 << 10;

pub type JoinError = Box<dyn std::error::Error + Send + Sync>;

/// Makes the value of an entry.
pub trait Join: Send + Sync {
    /// Of one part to [`PARTS_MAXIMUM`], in the order of their commits.
    fn join(&self, tenant: &Tenant, parts: &[Bytes]) -> Result<Bytes, JoinError>;
}

/// What a batch adds to a stream, alone or in one entry with parts of other batches. Readers that follow the emitter may not be
/// given it.
#[derive(Clone, PartialEq)]
pub struct Part {
    pub of: Arc<Joined>,
    /// Of [`PART_BYTES_MAXIMUM`] at most. Never stored as it is.
    pub content: Bytes,
}

/// The entry that parts become. Those that are equal may become one.
#[derive(Clone)]
pub struct Joined {
    pub emitter: Cow<'static, str>,
    pub stream: Cow<'static, str>,
    /// Parts of different groups are never in one entry.
    pub group: String,
    /// The newest entries of the stream that are kept, each of one part at least.
    pub keep: u32,
    pub join: Arc<dyn Join>,
}

// === impl Part ===

impl Part {
    /// The entry when nothing is joined with it, which may then be longer than a part.
    pub fn alone(&self, tenant: &Tenant) -> Result<Op, Error> {
        self.joined(tenant, std::slice::from_ref(&self.content))
    }

    /// The entry of these contents.
    pub(crate) fn joined(&self, tenant: &Tenant, contents: &[Bytes]) -> Result<Op, Error> {
        let Joined { emitter, stream, keep, join, .. } = &*self.of;
        let value = join.join(tenant, contents).map_err(Error::Join)?;
        Ok(Op::Append { emitter: emitter.to_string(), stream: stream.to_string(), value, keep: *keep })
    }
}

/// Without the content, which may be secret.
impl fmt::Debug for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Part").field(&self.of).field(&self.content.len()).finish()
    }
}

// === impl Joined ===

impl PartialEq for Joined {
    fn eq(&self, other: &Self) -> bool {
        let Self { emitter, stream, group, keep, join } = self;
        (group, emitter, stream, keep) == (&other.group, &other.emitter, &other.stream, &other.keep)
            && Arc::ptr_eq(join, &other.join)
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { emitter, stream, group, keep, .. } = self;
        formatter.debug_tuple("Joined").field(&(emitter, stream, group, keep)).finish()
    }
}

// === impl Batch ===

impl Batch {
    /// The same with an entry for each part, for an engine that writes them one by one.
    pub(crate) fn with_parts_alone(mut self) -> Result<Self, CommitError> {
        for part in std::mem::take(&mut self.parts) {
            self.operations.push(part.alone(&self.tenant)?);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::part;

    #[test]
    fn what_waits_to_be_sealed_is_not_printed() {
        let printed = format!("{:?}", part("e", "hunter2", 9));

        assert!(printed.contains('7') && !printed.contains("hunter2"), "{printed}");
        assert!(!printed.contains(&format!("{:?}", b"hunter2")), "{printed}");
    }
}
