//! The real thing, end to end: the real sandbox, the real shim, real components.
//!
//! `components` makes a test of every folder in `tests/components`; the other modules each hold one theme.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "all of this is test code, where a panic is how to fail"
)]

mod accounts;
mod attack;
mod bad_days;
mod cli;
mod components;
mod docs;
mod egress;
mod errors;
mod flow;
mod fuzz;
mod generated;
mod hostile;
mod hosts;
mod isolated;
mod isolation;
mod limits;
mod loading;
mod moving;
mod observability;
mod operator;
mod oracle;
mod packages;
mod priority;
mod project;
mod proxies;
mod randomness;
mod registry;
mod release;
mod replay;
mod shim;
mod stage;
mod tidy;
mod upgrade;
