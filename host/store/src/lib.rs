//! Everything a tenant owns, behind one contract: tenant-scoped reads, one write verb, leases.
//!
//! A [`Batch`] is data: preconditions and operations of one tenant, applied as a whole or not at
//! all. That is what lets an embedded database (one transaction, many batches per fsync) and Redis
//! (one script on one slot) be proven equal by one suite. Values are opaque bytes; what they mean is
//! decided above. Time is always passed in, never read.
//!
//! Reading order: the nouns ([`Tenant`], [`EntryId`]), what is written ([`Batch`]), what is read
//! ([`Reads`]), what is leased ([`Work`]), what is followed ([`Live`]), the seam ([`Store`]), then the engines.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]

mod batch;
mod breaker;
mod directory;
mod entry_id;
mod error;
mod feed;
mod keeping;
mod lock_file;
mod members;
mod neighbours;
mod numbers;
mod options;
mod part;
mod pulse;
mod read_only;
mod reads;
mod remembered;
mod store;
mod tenant;
mod work;

mod locks;
mod queue;

pub mod embedded;
/// For tests of the crates above; not in the shipped binary.
#[cfg(any(test, feature = "testing"))]
pub mod fake;
pub mod postgres;
pub mod redis;
pub mod transfer;

#[cfg(test)]
mod contract;

pub use crate::batch::{
    Batch, Committed, Enqueue, EntryRef, Invalid, LanePosition, MAX_NAME_BYTES, MAX_OPERATIONS, MAX_VALUE_BYTES, Op,
    Precondition,
};
pub use crate::directory::{Directory, DirectoryWrite};
pub use crate::entry_id::{EntryId, ParseEntryIdError};
pub use crate::error::{At, CommitError, Error};
pub use crate::feed::{Live, LiveEntry, Taken};
pub use crate::keeping::Keeping;
pub use crate::lock_file::{lock_file, lock_file_with_others};
pub use crate::members::{Beat, Heartbeat, Member};
pub use crate::neighbours::{Neighbours, Said};
pub use crate::numbers::Load;
pub use crate::options::{Durability, Options, Tls};
pub use crate::part::{Join, JoinError, Joined, PART_BYTES_MAXIMUM, PARTS_MAXIMUM, Part};
pub use crate::pulse::{Origin, Pulse, Wake, Wakes};
pub use crate::read_only::ReadOnly;
pub use crate::reads::{
    Entry, EntryQuery, KeyInfo, Keys, Lookup, MAX_PAGE, Order, Page, Reads, Record, Records, StreamInfo, Values,
};
pub use crate::store::{FIRST_LAYOUT, Sharing, Store};
pub(crate) use crate::store::{LAYOUT, readable};
pub use crate::tenant::{InvalidTenant, PARTITIONS, Partition, Tenant};
pub use crate::work::{
    Head, Job, JobId, JobLease, Lease, LeaseRequest, Leased, LeasedWork, Looked, MAX_LEASES, Next, Shares, Tick,
    TimerLease, Work,
};

/// For maps that every request looks things up in: seeded, and several times as fast as the standard hasher.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
