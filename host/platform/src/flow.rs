//! The data plane: from a trigger to a commit.
//!
//! Everything a run did becomes one batch; what left the building happened after a commit.

mod instance;
mod plan;
mod services;
mod turn;

pub use instance::Instance;
pub use services::{RunContext, Services};
pub use turn::{Emitted, Owner, Ran, Turn, take_turn};
