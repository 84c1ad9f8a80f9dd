//! One invocation, whatever is invoked: `prepare → execute → plan → commit`.
//!
//! | stage | file | what it does |
//! |---|---|---|
//! | – | `invocation.rs` | what is invoked, as data: sources, hooks, actions and steps differ in these values alone |
//! | prepare | `instance.rs` | the values of props, and credentials behind apps |
//! | execute | `execute.rs` | attempts in fresh sandboxes, until what was read held; `transaction.rs` decides that |
//! | plan | `domain::plan` | pure: the events, errors and log lines that the outcome amounts to |
//! | commit | `commit.rs` | everything in one batch, with the jobs that deliver it (`listeners.rs`) |
//!
//! `workflow.rs` runs steps one after the other and beside each other, each an invocation, and commits what they did.
//!
//! Used by `flow` and `manage`; knows neither.

mod invocation;

mod instance;

mod execute;
mod key_queues;
mod reply;
mod services;
mod transaction;

mod channels;
mod commit;
mod dedupe;
mod listeners;
mod record;
mod recording;
mod usage;

pub(crate) mod workflow;

pub(crate) use channels::Channels;
pub(crate) use commit::{Frame, Ran, run, settle};
pub(crate) use dedupe::Dedupe;
pub(crate) use execute::{Executed, execute};
pub(crate) use invocation::{Invocation, Owner, Target, Values};
pub(crate) use key_queues::KeyQueues;
pub(crate) use listeners::Listeners;
pub(crate) use listeners::{Deliveries, Outgoing, Room, Sender, deliveries, missing_deliveries};
pub(crate) use record::{EXPIRED_AT_ONCE, append_record, expire_records};
pub(crate) use recording::{
    Content, Entry as RecordingEntry, Joiner, Keeping, Recorder, append as append_recording,
    context as recording_context, deeds_of, keep as keep_recording, read as read_recording,
};
pub(crate) use reply::ReplySlot;
pub(crate) use services::{Offline, shown_key, stored_key};
pub(crate) use transaction::{Transaction, Waited, new_run_id};
pub(crate) use usage::usage_operations;
