//! Workflows: what a document says, and what a run of it does next. Pure: nothing is evaluated here, and nothing waits.
//!
//! | file | what it is for |
//! |---|---|
//! | `document.rs` | a document as a user wrote it, read and checked as a whole |
//! | `settings.rs` | how many runs at once, how often again, how long |
//! | `template.rs` | text with `{{ expressions }}`, which are code of the tenant and evaluated in its sandbox alone |
//! | `position.rs` | where a run is: which steps ended, what they exported, what is paused |
//! | `advance.rs` | given the document, the position and the outcome of a step: the next position |

mod advance;
mod document;
mod position;
mod settings;
pub mod template;

/// The key of `db` by which the code around a step has its answer sent at once.
pub const ANSWER_NOW: &str = "\0answer";
/// What keys begin with by which it asks for what the step is given and did not come with the call; `sandbox::PART_OF_CALL`.
pub const GIVEN: &str = "\0given/";

pub use advance::{Choice, Resumed, StepOutcome};
pub use document::{
    ActionStep, Body, Branch, CodeStep, ComponentRef, Document, NESTING_MAXIMUM, STEPS_MAXIMUM, Step, TRIGGER, Trigger,
    TriggerKind,
};
pub use position::{Ended, Pause, PauseKind, Position, Spot, Visible};
pub use settings::{Retention, Settings, Throttle};

#[cfg(test)]
mod tests;
