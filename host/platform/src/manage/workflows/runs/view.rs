//! A run of a workflow as the API shows it.

use domain::ids::RunId;
use domain::runs::{RunError, Trigger};
use domain::workflow::Ended;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::invoke::workflow::Version;
use crate::manage::reply::ReplyView;
use crate::records::workflow_run::{RunState, StepResult};
use crate::records::{EndedWorkflowRun, WorkflowRun};

/// A run as the API shows it.
#[derive(Debug, Serialize)]
pub struct WorkflowRunView {
    pub id: RunId,
    pub state: RunState,
    pub version: u32,
    pub trigger: Trigger,
    pub queued_at_ms: u64,
    pub started_at_ms: u64,
    pub ended_at_ms: Option<u64>,
    pub error: Option<RunError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_reason: Option<String>,
    /// When it goes on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes_at_ms: Option<u64>,
    /// Only of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepResult>>,
    /// What the steps exported, by their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exports: Option<Map<String, Value>>,
    /// What was given to `$.respond` of a run by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyView>,
}

// === impl WorkflowRunView ===

impl WorkflowRunView {
    pub(super) fn of(run: &WorkflowRun, version: Option<&Version>) -> Self {
        Self {
            id: run.id.clone(),
            state: run.state,
            version: run.version,
            trigger: run.trigger.clone(),
            queued_at_ms: run.queued_at_ms,
            started_at_ms: run.started_at_ms,
            ended_at_ms: None,
            error: None,
            exit_reason: version.and_then(|version| match run.position.ended(&version.document) {
                Some(Some(Ended::Exited { reason })) => reason.clone(),
                _ => None,
            }),
            resumes_at_ms: version.and_then(|version| run.position.due_ms(&version.document)),
            event: None,
            steps: None,
            exports: None,
            reply: None,
        }
    }

    pub(super) fn of_ended(run: &EndedWorkflowRun) -> Self {
        Self {
            id: run.id.clone(),
            state: run.state,
            version: run.version,
            trigger: run.trigger.clone(),
            queued_at_ms: run.queued_at_ms,
            started_at_ms: run.started_at_ms,
            ended_at_ms: Some(run.ended_at_ms),
            error: run.error.clone(),
            exit_reason: run.exit_reason.clone(),
            resumes_at_ms: None,
            event: None,
            steps: None,
            exports: None,
            reply: None,
        }
    }

    pub(super) fn detailed(self, run: WorkflowRun) -> Self {
        let exports = Some(run.position.exports().clone());
        Self { event: Some(json!(run.event)), exports, steps: Some(run.steps), ..self }
    }

    pub(super) fn with_details(self, run: EndedWorkflowRun) -> Self {
        Self { event: Some(json!(run.event)), exports: Some(run.exports), steps: Some(run.steps), ..self }
    }
}
