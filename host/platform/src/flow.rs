//! The data plane: from a trigger to a commit.
//!
//! Everything a run did becomes one batch; what left the building happened after a commit.

mod instance;
mod plan;
mod services;
mod turn;

pub use instance::Instance;
pub(crate) use instance::{open_props, secrets_context};
pub(crate) use services::write_operations;
pub use services::{RunContext, Services};
pub(crate) use turn::usage_operations;
pub use turn::{Emitted, Owner, Ran, Turn, take_turn};
