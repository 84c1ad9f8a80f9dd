//! Who owns a row, and which partition it lives in.
//!
//! The partition is a pure function of the tenant and the partition count, so any host finds a
//! tenant's slot without asking. The hash must never change: data lies where it says.

use std::fmt;
use std::sync::Arc;

/// Partitions of a new store. Sixteen slots spread over a handful of Redis nodes, and asking all of
/// them for work still takes about a millisecond.
pub const PARTITIONS: u16 = 16;

/// The owner of everything in the store. 1 to 64 of `A-Z a-z 0-9 _ -`: it is part of Redis keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Arc<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tenant id has 1 to 64 letters, digits, dashes or underscores")]
pub struct InvalidTenant;

/// The unit of placement: all keys of its tenants, their jobs and their timers share one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(u16);

// === impl Tenant ===

impl Tenant {
    pub fn parse(text: &str) -> Result<Self, InvalidTenant> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
            return Err(InvalidTenant);
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// FNV-1a, modulo the partition count. A count of zero is read as one.
    pub fn partition(&self, count: u16) -> Partition {
        let hash = self
            .0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let index = hash % u64::from(count.max(1));
        Partition(u16::try_from(index).unwrap_or_default())
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

// === impl Partition ===

impl Partition {
    pub fn index(self) -> u16 {
        self.0
    }

    /// As another host names it.
    pub(crate) fn at(index: u16) -> Self {
        Self(index)
    }

    /// Every partition of a store that has `count` of them.
    pub fn all(count: u16) -> Vec<Self> {
        (0..count).map(Self).collect()
    }
}

#[cfg(test)]
mod tests;
