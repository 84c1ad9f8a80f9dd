//! What tests of the real binary stand on: the server as a process, a client, a receiver of webhooks, a Redis and a
//! PostgreSQL of one's own, and the storm that kills the server while all of them are at work.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "all of this is test code, where a panic is how to fail"
)]

pub mod attack;
pub mod balancer;
pub mod client;
pub mod network;
pub mod port;
pub mod postgres;
pub mod receiver;
pub mod redis;
pub mod relays;
pub mod served;
pub mod storm;
pub mod wait;
pub mod wire;
