//! Workflows: how they are made (not by the API), and what it shows of them: the list, what they emitted and threw.

mod create;

use domain::ids::WorkflowId;
use domain::paging::PageQuery;
use serde::Serialize;
use store::Lookup;

use super::events::{EventQuery, EventSummary, summaries};
use crate::paging::{PageOf, page};
use crate::records::{Workflow, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use create::{NewStep, NewWorkflow, create};

#[derive(Debug, Serialize)]
pub struct WorkflowView {
    pub id: WorkflowId,
    pub name: String,
    pub active: bool,
    pub created_at: u64,
    pub updated_at: u64,
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Workflow>, Error> {
    page(&caller.tenant, platform, query).await
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Workflow, Error> {
    let found = table::find::<Workflow>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::Workflow, id))?.record)
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

// === impl WorkflowView ===

impl From<Workflow> for WorkflowView {
    fn from(workflow: Workflow) -> Self {
        let Workflow { id, name, is_active, created_at, updated_at, .. } = workflow;
        Self { id, name, active: is_active, created_at, updated_at }
    }
}
