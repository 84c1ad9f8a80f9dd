//! Where concrete types meet: the ports of `platform`, answered by the crates that can.

pub(crate) mod assembly;
pub(crate) mod fetching;
pub(crate) mod idle;
pub(crate) mod isolation;
pub(crate) mod linking;
pub(crate) mod network;
mod own;
pub(crate) mod packages;
pub(crate) mod sandboxing;
pub(crate) mod sending;
mod traffic;
