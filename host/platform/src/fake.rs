//! Hand-written stand-ins for the ports, for the tests of this crate and of those above it.

#[cfg(test)]
mod meddling;
mod outside;
mod relays;
mod sandbox;
mod time;
mod world;

#[cfg(test)]
pub(crate) use meddling::{CommitFault, Meddling, meddled, on_store};
pub use outside::{PlainLinker, Responder, StaticOutbound};
pub use relays::KeptRelays;
pub use sandbox::{ScriptedSandbox, emit, emit_with, log, returned, threw};
pub use time::{CountingEntropy, ManualClock};
pub use world::{World, component};
#[cfg(test)]
pub(crate) use world::{with_keys, with_vault};
