//! Hosts that share a store: each says now and then that it is there, and learns which others are.
//!
//! The store's clock decides who is there, not that of any host.

use bytes::Bytes;

/// What a host says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Beat<'host> {
    /// Unique to one run of its process.
    pub host: &'host str,
    /// For the others and the operator; the store does not look at it.
    pub about: &'host [u8],
    /// The version of the list that the host has: it is answered when there is another.
    pub known: u64,
    /// A host that was not heard of for so long is gone.
    pub gone_after_ms: u64,
    /// The newest layout that the host reads.
    pub reads: u32,
}

/// What the store answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// By the store's clock, in microseconds since the Unix epoch.
    pub now_us: u64,
    /// Changes when a host came or went.
    pub version: u64,
    /// The newest layout that every host reads. It never falls.
    pub layout: u32,
    /// Every host that is there, by id, when the version is not the known one.
    pub members: Option<Vec<Member>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub host: String,
    pub seen_ms: u64,
    pub about: Bytes,
}
