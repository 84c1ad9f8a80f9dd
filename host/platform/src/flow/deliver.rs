//! Brings events to their listeners, and what actions send to its receivers.

mod dead_letters;
mod outage;
mod relay;
mod report;
mod send;
mod webhook;

pub(super) use dead_letters::SwitchedOff;
pub(super) use report::Report;
