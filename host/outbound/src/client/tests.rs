//! Whole exchanges with a server on loopback, by theme.

mod cancelling;
pub(crate) mod decoding;
mod limits;
mod messages;
mod redirects;
mod streaming;
mod tls;
mod waiting;
