//! The data plane: from a trigger to a commit.
//!
//! Everything a run did becomes one batch; what left the building happened after a commit.

mod instance;
mod invocation;
mod job;
mod key_queues;
mod plan;
mod reply;
mod routes;
mod services;
mod transaction;
mod turn;

mod lookup;
mod quota;
pub(crate) mod rate;
mod report;

mod accept;
mod channels;
mod gate;

pub mod dead_letters;

mod follow;

mod deliver;
mod perform;
mod schedule;
mod send;
mod trigger;
mod workflow;

mod handle;
mod outlive;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) const ACCEPTANCE_KIND: &str = <job::Acceptance as crate::records::Stored>::KIND;
pub(crate) const DEDUPE_KIND: &str = <plan::Dedupe as crate::records::Stored>::KIND;

pub(crate) use accept::accept_operations;
pub use channels::Channels;
pub use follow::{End, Follower, Following, Gap, Next};
pub use handle::{Config, Flow, Handle};
pub use instance::Instance;
pub(crate) use instance::{open_props, secrets_context};
pub(crate) use invocation::Invocation;
pub use key_queues::KeyQueues;
pub use rate::Rate;
pub(crate) use reply::ReplySlot;
#[cfg(test)]
pub(crate) use services::write_operations;
pub(crate) use transaction::{Terms, Transaction, new_run_id};
pub use trigger::{Admitted, Answer, Refusal};
pub(crate) use turn::usage_operations;
pub use turn::{Emitted, Owner, Ran, Turn, take_turn};
pub use worker::Worker;
