//! Implements the ports of `platform` with the concrete crates.

pub(crate) mod assembly;
mod authorizing;
mod exchanging;
pub(crate) mod exporting;
pub(crate) mod fetching;
pub(crate) mod idle;
pub(crate) mod isolation;
pub(crate) mod linking;
pub(crate) mod network;
mod own;
pub(crate) mod packages;
mod relays;
pub(crate) mod sandboxing;
pub(crate) mod sending;
mod traffic;
