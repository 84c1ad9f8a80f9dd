//! Admission: decides whether a request may run, and runs it.

mod gate;
mod grace;
mod lookup;
mod outlive;
mod request;

pub(super) use gate::{Gate, Permit};
pub(super) use lookup::Sources;
pub use request::{Admitted, Answer, Answered, Refusal};
pub(super) use request::{Waiting, refusal, still_accepted};
