//! What is told of a run that failed: an event of `$errors`, in the shape of the specification.

use domain::ids::{EmitId, RunId, WorkflowId};
use domain::json::Json;
use domain::plan::iso_8601;
use domain::runs::{RunError, TriggerKind};
use domain::trace::TraceId;
use serde::Serialize;
use serde_json::json;
use store::Tenant;

use crate::Platform;
use crate::ports::Fault;
use crate::records::{Event, Metadata, Workflow, WorkflowRun, names};

/// Why a run ended early.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) step: String,
    pub(crate) error: Box<RunError>,
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(step: &str, code: &str, message: impl Into<String>) -> Self {
        let (code, name, message) = (code.to_owned(), "Error".to_owned(), message.into());
        let error = RunError { code, name, message, stack: String::new(), cause: None };
        Self { step: step.to_owned(), error: Box::new(error) }
    }

    pub(crate) fn of(step: &str, fault: &Fault) -> Self {
        Self { step: step.to_owned(), error: Box::new(RunError::of(fault)) }
    }

    fn stack(&self) -> &str {
        if self.error.stack.is_empty() { &self.error.message } else { &self.error.stack }
    }
}

/// `steps.trigger.context`, in the order of the specification.
#[derive(Serialize)]
struct TriggerContext<'a> {
    id: &'a str,
    ts: String,
    workflow_id: &'a WorkflowId,
    workflow_name: &'a str,
    deployment_id: String,
    source_type: &'static str,
    verified: bool,
    hops: u32,
    test: bool,
    replay: bool,
    trace_id: TraceId,
    run_id: &'a RunId,
    owner_id: &'a str,
    platform_version: &'static str,
}

/// As text: each run has one, and few steps look at it.
pub(crate) fn context(tenant: &Tenant, workflow: &Workflow, run: &WorkflowRun) -> Json {
    let source_type = match run.trigger.kind {
        TriggerKind::Http => "HTTP",
        TriggerKind::Timer => "TIMER",
        TriggerKind::Event => "COMPONENT",
        _ => "MANUAL",
    };
    let context = TriggerContext {
        id: &run.event_id,
        ts: iso_8601(i64::try_from(run.queued_at_ms).unwrap_or(i64::MAX)),
        workflow_id: &workflow.id,
        workflow_name: &workflow.name,
        deployment_id: workflow.deployment_id(run.version),
        source_type,
        verified: true,
        hops: run.cause.depth,
        test: false,
        replay: run.is_replay,
        trace_id: run.cause.trace_id,
        run_id: &run.id,
        owner_id: tenant.as_str(),
        platform_version: env!("CARGO_PKG_VERSION"),
    };
    // Texts and numbers have a JSON form.
    serde_json::value::to_raw_value(&context).unwrap_or_default().into()
}

pub(crate) fn failure_event(
    platform: &Platform,
    workflow: &Workflow,
    failure: &Failure,
    original_event: &Json,
    original_context: &Json,
) -> Event {
    let ts = iso_8601(platform.clock.instant_ms());
    let metadata = metadata(platform, workflow, names::ERRORS.to_owned());
    let event = json!({
        "original_event": original_event,
        "original_context": original_context,
        "error": {
            "code": failure.error.code,
            "cellId": failure.step,
            "ts": ts,
            "message": failure.error.message,
            "stack": failure.stack(),
        },
        "metadata": {"emitter_id": workflow.id, "emit_id": metadata.emit_id, "name": names::ERRORS},
    });
    Event { event: event.into(), metadata }
}

pub(super) fn metadata(platform: &Platform, workflow: &Workflow, name: String) -> Metadata {
    let emit_id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    Metadata { emit_id, name, emitter_id: workflow.id.to_string(), id: None, summary: None, ts: None, run_id: None }
}
