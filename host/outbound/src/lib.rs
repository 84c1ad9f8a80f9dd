//! The egress client, for every HTTP request that leaves Wellspring: the `fetch` of components,
//! `component_url`, the npm registry and webhooks.
//!
//! What it keeps, whatever the caller asks for:
//!
//! - A name is resolved once, every address of the answer is checked by [`filter`], and the
//!   connection goes to exactly the addresses that were checked. This holds again for every
//!   redirect and every new connection, so an answer that changes later gains nothing.
//! - Every wait has a timeout and every body and header block has a limit.
//! - Nothing in a header or a URL can add a header or a second request.
//!
//! What it deliberately does not do:
//!
//! - **No proxy.** `HTTP_PROXY` and `HTTPS_PROXY` are ignored. A proxy resolves the name and opens
//!   the connection itself, from inside the operator's network, so the filter would check the
//!   proxy's address and never see the destination.
//! - No cookies, no cache and no retries: callers own those decisions. Only a request that never
//!   left on a stale kept-alive connection is sent again.
//!
//! Connections are kept alive per [`Outbound`]. One `Outbound` has one [`Config`], so a connection
//! opened under one policy is never reused under another.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may fail"
    )
)]

mod body;
mod client;
mod config;
mod connect;
mod decode;
mod error;
pub mod filter;
mod headers;
mod link;
mod policy;
mod redirect;
mod request;
mod resolve;
mod smtp;
mod tasks;
mod tls;

pub use body::ResponseBody;
pub use client::{Outbound, Response};
pub use config::{Config, HostOverride, HostOverrideError};
pub use error::{Cause, Error, HeaderFault, Phase, UrlFault};
pub use http::{Method, StatusCode};
pub use policy::{Denied, HostPattern, Own, Policy, Rule, RuleError};
pub use request::{Body, Redirect, Request};
pub use resolve::{Resolve, SystemResolver};
pub use smtp::{NotTaken, Relay, RelayError};
pub use tls::{CertificateDer, parse_pem_roots};
pub use url::{Host, Url};

#[cfg(test)]
mod testing;
