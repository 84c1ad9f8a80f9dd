//! Where concrete types meet: what the sandbox asks of the world, answered by the crates that can.

pub(crate) mod fetching;
pub(crate) mod network;
