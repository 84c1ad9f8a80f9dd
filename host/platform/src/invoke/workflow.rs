//! One run of a workflow: its steps are invocations, and what they did is committed as late as nothing outside can tell.
//!
//! | file | what it does |
//! |---|---|
//! | `version.rs` | finds what a run goes through, and keeps it at hand: versions never change |
//! | `running.rs` | starts the steps that are ready, until the run has ended or pauses |
//! | `again.rs` | begins again what lost against another run, and gives back what failed |
//! | `results.rs` | takes in what came of a step |
//! | `state.rs` | where a step keeps state, so that steps that share some run one after the other |
//! | `given.rs` | what a step sees of the run: what comes with its call, and what it asks for |
//! | `step.rs` | makes the invocation of a step |
//! | `barrier.rs` | what a step asks before its first request leaves: that everything before it is durable |
//! | `pending.rs` | what steps did that is not committed yet |
//! | `commit.rs` | one batch of all that, with the position of the run |
//! | `sends.rs` | the jobs that send requests, e-mails and objects after the commit |
//! | `queue.rs` | runs that wait for their turn |
//! | `lanes.rs` | which lane a run waits in |
//! | `failure.rs` | what is told of a run that failed |
//!
//! Results of pure steps are held back and committed together: before a request of a later step leaves, before an answer is
//! sent, before a pause, and at the end. So a chain of pure steps costs one commit, and a step whose effects left is not
//! run again for the sake of a later one.

mod again;
mod barrier;
mod commit;
mod failure;
mod given;
mod lanes;
mod pending;
mod queue;
mod results;
mod running;
mod sends;
mod state;
mod step;
mod version;

pub(crate) use failure::{Failure, context, failure_event};
pub(crate) use given::Given;
pub(crate) use lanes::Lanes;
pub(crate) use queue::{NewRun, end_early, enqueue, queue_job};
pub(crate) use results::record_retention;
pub(crate) use running::{Hold, Renewed, Running};
pub(crate) use step::StepContext;
pub(crate) use version::{Version, Versions};
