//! HTTP, and nothing but translation: what a request means is decided by `platform`.
//!
//! Reading order: [`front`] is the stack from the socket down, [`routes`] the table of everything the API answers,
//! `api` turns parameters into use cases and their results into envelopes, `openapi` and `docs` render the same table.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::needless_pass_by_value,
        reason = "a test says what is wrong by panicking, and reads best with its JSON written in the call"
    )
)]

pub mod front;
pub mod operator_socket;

mod app;
mod audit;
mod body;
mod metrics;
mod plugin;
mod progress;
mod reading;
mod session;
mod stall;
pub mod watchdog;

pub mod connect;
pub mod console;
pub mod ingress;
pub mod stream;

mod api;
mod route;
pub mod routes;

mod docs;
mod openapi;

#[cfg(test)]
mod tests;

pub use app::{ApiLimits, App, Parts};
pub use body::{Body, BoxError, Peer, empty, full};
pub use metrics::Metrics;
pub use openapi::document;
pub use plugin::Plugin;
pub use route::Access;
