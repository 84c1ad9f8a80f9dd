//! The invocation of a step.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::RunId;
use domain::runs::{RecordingMode, Trigger};
use domain::workflow::Spot;
use serde_json::{Map, Value};

use super::barrier::Barrier;
use super::given::Given;
use crate::invoke::{
    Executed, Invocation, Keeping, Owner, Recorder, ReplySlot, Target, execute, keep_recording, new_run_id,
};
use crate::ports::{Call, RunLimits};
use crate::records::{Step, Workflow};
use crate::{Error, Platform};

/// A step that is to be run.
pub(super) struct StepJob<'a> {
    pub(super) platform: &'a Platform,
    pub(super) owner: Owner<'a>,
    pub(super) workflow: &'a Workflow,
    pub(super) step: &'a Step,
    /// With secrets in the clear.
    pub(super) props: Map<String, Value>,
    pub(super) spot: Spot,
    pub(super) run_id: RunId,
    pub(super) trigger: Trigger,
    /// What it sees of the steps before it, and what the code around it needs.
    pub(super) given: Arc<Given>,
    /// What its URLs end with.
    pub(super) key: String,
    pub(super) time_left: Duration,
    pub(super) reply: Option<Arc<ReplySlot>>,
    pub(super) barrier: Barrier,
    pub(super) recording: RecordingMode,
}

/// What the host functions of a step know besides those of other runs.
#[derive(Clone)]
pub(crate) struct StepContext {
    pub(crate) barrier: Barrier,
    pub(crate) given: Arc<Given>,
}

/// A step that ran, and is not committed yet.
pub(super) struct StepRan {
    /// Of its own record.
    pub(super) id: RunId,
    pub(super) spot: Spot,
    pub(super) key: String,
    pub(super) started_at_ms: u64,
    pub(super) executed: Executed,
    pub(super) recording: Keeping,
}

// === impl StepJob ===

impl StepJob<'_> {
    pub(super) async fn run(self) -> Result<StepRan, Error> {
        let Self { platform, owner, workflow, step, spot, key, .. } = self;
        let (id, started_at_ms) = (new_run_id(platform, workflow.id.as_str()), platform.clock.now_ms());
        let mut limits = RunLimits::background(&platform.config.limits);
        limits.wall_clock = limits.wall_clock.min(self.time_left);
        let invocation = Invocation {
            owner,
            target: Target::of_step(workflow, step, self.props, self.recording),
            call: Call::Action { steps: self.given.steps() },
            limits,
            trigger: self.trigger,
            queued_at_ms: started_at_ms,
            reply: self.reply,
            step: Some(StepContext { barrier: self.barrier, given: self.given }),
        };
        let transaction = invocation.transaction_of(platform, self.run_id);
        let executed = execute(platform, &invocation, transaction).await?;
        let recorder = Recorder { id: &id, emitter: workflow.id.as_str() };
        let recording = keep_recording(platform, &invocation, &executed, &recorder)?;
        Ok(StepRan { id, spot, key, started_at_ms, executed, recording })
    }
}
