//! Sources: components that are deployed and run.

mod change;
mod create;
mod delete;
pub(super) mod endpoints;
mod history;
mod naming;
mod preview;
mod recording;
mod run;
mod update;

use domain::ids::{ComponentId, SourceId, UserId};
use domain::paging::PageQuery;
use domain::redact::Redaction;
use domain::runs::RecordingMode;
use serde::Serialize;
use serde_json::{Map, Value};
use store::Lookup;

use super::configure;
use crate::paging::{PageOf, longest_page, page};
use crate::ports::Fault;
use crate::records::{Account, Kept, Source, table};
use crate::{Caller, Error, Noun, Platform};

pub(super) use create::change_ms;
pub use create::{CreateSource, create};
pub use delete::delete;
pub use history::{Rollback, SourceVersionView, rollback, versions};
pub(super) use naming::check_project;
pub(super) use preview::short;
pub use preview::{Preview, PreviewedChange, preview};
pub use recording::{RunSettings, set_recording};
pub(crate) use run::run_triggered;
pub use run::{SourceRun, run};
pub use update::{UpdateSource, update};

/// What the API shows of a source.
#[derive(Debug, Serialize)]
pub struct SourceView {
    pub id: SourceId,
    /// In the create response only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    pub component_id: ComponentId,
    /// What its component calls itself.
    pub component_name: String,
    /// The key that its component declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component_key: Option<String>,
    /// The SHA-256 of the linked program it runs, in hex.
    pub digest: String,
    /// Counts its revisions: code or props that were replaced.
    pub version: u32,
    /// The folder that `apply` made it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub configured_props: Map<String, Value>,
    pub active: bool,
    /// Why its runs fail before they begin: accounts that have to be connected again, or were deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Which of its runs are recorded.
    pub recording: RecordingMode,
    /// Records of its runs that are kept; what the server keeps when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_runs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_runs_for_seconds: Option<u64>,
    /// Paths that are not shown of the input and output of its runs.
    #[serde(skip_serializing_if = "Redaction::is_empty")]
    pub redact: Redaction,
    pub created_at: u64,
    pub updated_at: u64,
    pub name: String,
    pub name_slug: String,
}

/// What a list of thousands needs of each source.
#[derive(Debug, Serialize)]
pub struct SourceSummary {
    pub id: SourceId,
    pub name: String,
    pub name_slug: String,
    pub active: bool,
    pub created_at: u64,
    pub updated_at: u64,
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Source, Error> {
    Ok(kept(caller, platform, id).await?.record)
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Source>, Error> {
    page(&caller.tenant, platform, query).await
}

/// A thousand a page, whatever the limit of the query.
pub async fn summaries(
    caller: &Caller,
    platform: &Platform,
    query: &PageQuery,
) -> Result<PageOf<SourceSummary>, Error> {
    let sources = longest_page::<Source>(&caller.tenant, platform, query).await?;
    Ok(sources.map(|source| SourceSummary {
        id: source.id,
        name: source.name,
        name_slug: source.slug,
        active: source.is_active,
        created_at: source.created_at,
        updated_at: source.updated_at,
    }))
}

/// The view of the create response.
pub fn view_created(caller: &Caller, platform: &Platform, source: Source) -> SourceView {
    SourceView { user_id: Some(caller.user.id.clone()), ..view(caller, platform, source) }
}

/// The view of a list, and of a single read.
pub fn view(caller: &Caller, platform: &Platform, source: Source) -> SourceView {
    let configured_props = configure::shown(caller, platform, &source);
    SourceView {
        id: source.id,
        user_id: None,
        component_name: source.revision.description.name,
        component_key: source.revision.description.key,
        digest: source.revision.program,
        component_id: source.revision.component_id,
        version: source.version,
        project: source.project,
        configured_props,
        active: source.is_active,
        problems: Vec::new(),
        recording: source.recording,
        keep_runs: source.retention.count,
        keep_runs_for_seconds: source.retention.seconds,
        redact: source.redaction,
        created_at: source.created_at,
        updated_at: source.updated_at,
        name: source.name,
        name_slug: source.slug,
    }
}

/// Says in views of sources which of their accounts do not work.
pub async fn note_accounts(caller: &Caller, platform: &Platform, views: &mut [SourceView]) -> Result<(), Error> {
    let named = |value: &Value| Some(value.get("authProvisionId")?.as_str()?.to_owned());
    let uses_any = views.iter().any(|view| view.configured_props.values().any(|value| named(value).is_some()));
    if !uses_any {
        return Ok(());
    }
    let accounts = table::list_all::<Account>(&*platform.store, &caller.tenant).await?;
    for view in views {
        for (prop, id) in view.configured_props.iter().filter_map(|(prop, value)| Some((prop, named(value)?))) {
            let found = accounts.iter().find(|kept| kept.record.id.as_str() == id);
            let (prop, account) = (prop.clone(), id);
            let fault = match found.map(|kept| &kept.record.dead) {
                None => Fault::NoAccount { prop, account },
                Some(Some(death)) => Fault::DeadAccount { prop, account, reason: death.reason.clone() },
                Some(None) => continue,
            };
            view.problems.push(fault.to_string());
        }
    }
    Ok(())
}

pub(super) async fn kept(caller: &Caller, platform: &Platform, id: &str) -> Result<Kept<Source>, Error> {
    let found = table::find::<Source>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    found.ok_or_else(|| Error::not_found(Noun::Source, id))
}
