//! The data plane, by stage: from a trigger to what is delivered.
//!
//! | stage | what it does |
//! |---|---|
//! | `admit` | a request may run: endpoint, rates, quota; it is accepted and answered |
//! | `schedule` | a timer's tick runs its source |
//! | `work` | leases jobs and ticks, and works on them within bounds |
//! | `deliver` | brings events to webhooks, sources and workflows; retries and gives up |
//! | `workflows` | starts runs of workflows, and goes on with those that were queued or paused |
//! | `follow` | streams events to readers as they are committed |
//!
//! Running a component and committing what it did is `invoke`, which the control plane uses as well.

mod handle;

mod admit;
mod deliver;
mod follow;
mod schedule;
mod work;
mod workflows;

#[cfg(test)]
mod tests;

pub use admit::{Admitted, Answer, Answered, Refusal};
pub use follow::{End, Follower, Following, Gap, Next};
pub use handle::{Config, Flow, Handle};
pub use work::Worker;
