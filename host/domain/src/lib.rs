//! The nouns of Wellspring and the pure rules about them.
//!
//! Nothing here waits, reads a clock, draws randomness or touches a disk: what a rule needs is passed in, so every
//! rule is a table test away. Other crates parse at their edge into these types and never look inside the text again.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::needless_pass_by_value,
        clippy::redundant_clone,
        reason = "a test says what is wrong by panicking, and reads best with its JSON written in the call"
    )
)]

mod base62;
mod raw;

pub mod ids;
pub mod json;
pub mod limits;
pub mod problem;
pub mod slug;

pub mod component;
pub mod data_stores;
pub mod props;
pub mod timers;

pub mod addresses;
pub mod dedupe;
pub mod emit;
pub mod event;
pub mod outcome;
pub mod plan;
pub mod redact;
pub mod replay;
pub mod runs;
pub mod trace;

pub mod deliveries;
pub mod event_id;
pub mod fan_out;
pub mod keys;
pub mod retention;
pub mod retry;
pub mod subscriptions;
pub mod users;
pub mod webhooks;

pub mod fields;
pub mod paging;
pub mod truncate;

pub mod actions;
pub mod apps;
pub mod http_event;
pub mod mail;
pub mod respond;
pub mod s3;
pub mod workflow;
