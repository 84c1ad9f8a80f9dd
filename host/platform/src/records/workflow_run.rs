//! Runs of workflows: while they are under way as a record, afterwards as an entry of a stream.

use bytes::Bytes;
use domain::fan_out::Cause;
use domain::ids::{RunId, WorkflowId};
use domain::json::Json;
use domain::outcome::{LogLine, Usage};
use domain::runs::{RunError, Trigger};
use domain::workflow::Position;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RecordError, Stored, StreamEntry, decode_as, encode_as};

/// A run that has not ended. Whatever is committed of it is here; a host that takes it over goes on from the position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkflowRun {
    pub id: RunId,
    pub workflow: WorkflowId,
    /// Of the workflow, when the run was triggered.
    pub version: u32,
    pub state: RunState,
    pub trigger: Trigger,
    /// Of the event, or of the run itself.
    pub event_id: String,
    pub event: Json,
    #[serde(default)]
    pub is_replay: bool,
    pub position: Position,
    /// What ran so far, oldest first.
    pub steps: Vec<StepResult>,
    pub cause: Cause,
    pub queued_at_ms: u64,
    pub started_at_ms: u64,
    #[serde(default)]
    pub used: Used,
    /// Ids of the first events it emitted.
    #[serde(default)]
    pub emit_ids: Vec<String>,
    /// That it counts among the runs that wait.
    #[serde(default)]
    pub is_counted: bool,
    /// How often it was paused: a job for the part before a pause has nothing left to do.
    #[serde(default)]
    pub segment: u32,
    /// That the tick of its timer drives it, and goes on with it should its host die.
    #[serde(default)]
    pub is_ticked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Executing,
    Paused,
    Success,
    Error,
    Cancelled,
}

/// How a step went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepResult {
    pub namespace: String,
    /// Which iteration of `for_each` it belongs to, from the outermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iteration: Vec<usize>,
    pub state: RunState,
    /// Names its own record among the runs; none of those that an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The values of its props, without secret ones; none when they were too large to be shown.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub inputs: Value,
    pub exports: Value,
    /// That the exports were too large to be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    pub logs: Vec<LogLine>,
    pub attempt: u32,
    pub started_at_ms: u64,
    pub ended_at_ms: u64,
    pub fuel: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

/// What all steps cost together.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Used {
    pub fuel: u64,
    pub cpu_us: u64,
    pub wall_us: u64,
    pub peak_memory_bytes: u64,
}

/// A run that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndedWorkflowRun {
    pub id: RunId,
    pub version: u32,
    pub state: RunState,
    pub trigger: Trigger,
    pub event_id: String,
    pub event: Json,
    pub exports: Map<String, Value>,
    pub steps: Vec<StepResult>,
    pub queued_at_ms: u64,
    pub started_at_ms: u64,
    pub ended_at_ms: u64,
    pub error: Option<RunError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_reason: Option<String>,
}

impl Stored for WorkflowRun {
    const KIND: &'static str = "workflow_run";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl StreamEntry for EndedWorkflowRun {
    const KIND: &'static str = "ended_workflow_run";

    fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(<Self as StreamEntry>::KIND, 1, self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(<Self as StreamEntry>::KIND, 1, bytes)
    }
}

// === impl EndedWorkflowRun ===

impl EndedWorkflowRun {
    pub fn of(run: &WorkflowRun, state: RunState, ended_at_ms: u64, error: Option<RunError>) -> Self {
        Self {
            id: run.id.clone(),
            version: run.version,
            state,
            trigger: run.trigger.clone(),
            event_id: run.event_id.clone(),
            event: run.event.clone(),
            exports: run.position.exports().clone(),
            steps: run.steps.clone(),
            queued_at_ms: run.queued_at_ms,
            started_at_ms: run.started_at_ms,
            ended_at_ms,
            error,
            exit_reason: None,
        }
    }
}

// === impl RunState ===

impl RunState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Executing => "executing",
            Self::Paused => "paused",
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Executing, Self::Paused, Self::Success, Self::Error, Self::Cancelled];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

// === impl Used ===

impl Used {
    pub(crate) fn add(&mut self, usage: Usage) {
        let micros = |duration: std::time::Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.fuel = self.fuel.saturating_add(usage.fuel);
        self.cpu_us = self.cpu_us.saturating_add(micros(usage.cpu));
        self.wall_us = self.wall_us.saturating_add(micros(usage.wall_clock));
        self.peak_memory_bytes = self.peak_memory_bytes.max(usage.peak_memory_bytes as u64);
    }

    pub(crate) fn usage(self) -> Usage {
        Usage {
            fuel: self.fuel,
            cpu: std::time::Duration::from_micros(self.cpu_us),
            wall_clock: std::time::Duration::from_micros(self.wall_us),
            peak_memory_bytes: usize::try_from(self.peak_memory_bytes).unwrap_or(usize::MAX),
        }
    }
}
