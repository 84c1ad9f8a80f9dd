//! The commands as processes, against a server that is none: what they print, what they send, how they end.
//!
//! Outputs are compared with the files in `snapshots`; `UPDATE=1` writes them anew.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "all of this is test code, where a panic is how to fail and `json!` makes arguments"
)]

mod client;
mod fake;
mod world;

mod applying;
mod bad_days;
mod changes;
mod completions;
mod deploying;
mod following;
mod help;
mod lists;
mod logins;
mod person;
mod running;
mod starting;
mod stored;
mod versions;
mod workflows;
