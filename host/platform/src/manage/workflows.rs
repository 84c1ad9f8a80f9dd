//! Workflows: deployed from a document, in versions; what they emitted and threw; their runs.

mod compile;
mod delete;
mod deploy;
mod generate;
mod preview;
mod runs;
mod triggers;

use domain::ids::WorkflowId;
use domain::paging::PageQuery;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Lookup, Tenant};

use super::events::{EventQuery, EventSummary, summaries};
use crate::paging::{PageOf, page};
use crate::records::{Kept, TriggerRecord, TriggerRecordKind, Workflow, WorkflowVersion, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use delete::delete;
pub(super) use delete::{clear_run_timers, clear_step_values, forget_step};
pub use deploy::{WorkflowChange, create, rollback, update};
pub use preview::preview;
pub use runs::{
    RunListQuery, RunPath, WorkflowRunView, cancel, cancel_by_key, find_pause, find_run, list_runs, replay, resume,
    resume_by_key, run, run_later,
};

#[derive(Debug, Serialize)]
pub struct WorkflowView {
    pub id: WorkflowId,
    pub name: String,
    pub active: bool,
    pub version: u32,
    /// The folder that `apply` made it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub triggers: Vec<Value>,
    /// As they were given, without secret values; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// One version of a workflow.
#[derive(Debug, Serialize)]
pub struct VersionView {
    pub version: u32,
    pub deployment_id: String,
    /// Whether new runs go through it.
    pub current: bool,
    pub document: Value,
    pub created_at: u64,
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<WorkflowView>, Error> {
    let page = page::<Workflow>(&caller.tenant, platform, query).await?;
    Ok(page.map(|workflow| WorkflowView::of(caller, platform, &workflow)))
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Workflow, Error> {
    Ok(kept(caller, platform, id).await?.record)
}

/// A workflow with its steps and settings.
pub async fn show(caller: &Caller, platform: &Platform, id: &str) -> Result<WorkflowView, Error> {
    let workflow = find(caller, platform, id).await?;
    view(caller, platform, &workflow).await
}

pub async fn view(caller: &Caller, platform: &Platform, workflow: &Workflow) -> Result<WorkflowView, Error> {
    let version = version_of(platform, &caller.tenant, workflow, workflow.version).await?;
    let part = |name: &str, otherwise: Value| Some(version.document.get(name).cloned().unwrap_or(otherwise));
    let (steps, settings) = (part("steps", json!([])), part("settings", json!({})));
    Ok(WorkflowView { steps, settings, ..WorkflowView::of(caller, platform, workflow) })
}

/// Newest first.
pub async fn versions(caller: &Caller, platform: &Platform, id: &str) -> Result<Vec<VersionView>, Error> {
    let workflow = find(caller, platform, id).await?;
    let mut versions = Vec::new();
    for number in (1..=workflow.version).rev() {
        let id = WorkflowVersion::id_of(&workflow.id, number);
        let found = table::find::<WorkflowVersion>(&*platform.store, &caller.tenant, Lookup::Id(&id)).await?;
        // Older ones are deleted.
        let Some(kept) = found else { break };
        versions.push(VersionView {
            version: number,
            deployment_id: workflow.deployment_id(number),
            current: number == workflow.version,
            document: kept.record.document,
            created_at: kept.record.created_at,
        });
    }
    Ok(versions)
}

pub async fn events(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &EventQuery,
) -> Result<PageOf<EventSummary>, Error> {
    let workflow = find(caller, platform, id).await?;
    summaries(&caller.tenant, platform, workflow.id.as_str(), query).await
}

pub async fn errors(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: EventQuery,
) -> Result<PageOf<EventSummary>, Error> {
    let query = EventQuery { event_name: Some(names::ERRORS.to_owned()), ..query };
    events(caller, platform, id, &query).await
}

pub(super) async fn kept(caller: &Caller, platform: &Platform, id: &str) -> Result<Kept<Workflow>, Error> {
    let found = table::find::<Workflow>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    found.ok_or_else(|| Error::not_found(Noun::Workflow, id))
}

async fn version_of(
    platform: &Platform,
    tenant: &Tenant,
    workflow: &Workflow,
    number: u32,
) -> Result<WorkflowVersion, Error> {
    let id = WorkflowVersion::id_of(&workflow.id, number);
    let found = table::find::<WorkflowVersion>(&*platform.store, tenant, Lookup::Id(&id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::Version, number))?.record)
}

/// The versions that new runs of an account's workflows go through.
pub(super) async fn current_versions(tenant: &Tenant, platform: &Platform) -> Result<Vec<WorkflowVersion>, Error> {
    let mut current = Vec::new();
    for kept in table::list_all::<Workflow>(&*platform.store, tenant).await? {
        let id = WorkflowVersion::id_of(&kept.record.id, kept.record.version);
        let found = table::find::<WorkflowVersion>(&*platform.store, tenant, Lookup::Id(&id)).await?;
        current.extend(found.map(|kept| kept.record));
    }
    Ok(current)
}

// === impl WorkflowView ===

impl WorkflowView {
    fn of(caller: &Caller, platform: &Platform, workflow: &Workflow) -> Self {
        let shown = |trigger: &TriggerRecord| show_trigger(caller, platform, workflow, trigger);
        Self {
            id: workflow.id.clone(),
            name: workflow.name.clone(),
            active: workflow.is_active,
            version: workflow.version,
            project: workflow.project.clone(),
            triggers: workflow.triggers.iter().map(shown).collect(),
            steps: None,
            settings: None,
            created_at: workflow.created_at,
            updated_at: workflow.updated_at,
        }
    }
}

/// In the form in which it can be sent back.
fn show_trigger(caller: &Caller, platform: &Platform, workflow: &Workflow, trigger: &TriggerRecord) -> Value {
    let active = workflow.is_active;
    match &trigger.kind {
        TriggerRecordKind::Http { key, has_custom_response } => {
            let (key, url) = match caller.sees_endpoints() {
                true => (key.as_str().to_owned(), platform.endpoint_url(key)),
                false => (domain::props::REDACTED.to_owned(), domain::props::REDACTED.to_owned()),
            };
            json!({"id": trigger.id, "type": "http", "key": key, "endpoint_url": url, "custom_response": has_custom_response, "active": active})
        }
        TriggerRecordKind::Timer { schedule } => {
            let mut shown = json!({"id": trigger.id, "type": "timer", "active": active});
            if let (Some(shown), Some(schedule)) = (shown.as_object_mut(), schedule.as_object()) {
                shown.extend(schedule.clone());
            }
            shown
        }
        TriggerRecordKind::Source { source, event_name, component: None } => {
            json!({"id": trigger.id, "type": "source", "source_id": source, "event_name": event_name, "active": active})
        }
        TriggerRecordKind::Source { source, component: Some(component), .. } => {
            let mut shown = json!({"id": trigger.id, "type": "component", "source_id": source, "active": active});
            if let (Some(shown), Some(component)) = (shown.as_object_mut(), component.as_object()) {
                shown.extend(component.clone());
            }
            shown
        }
    }
}
