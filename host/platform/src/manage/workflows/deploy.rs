//! Deploying: a document becomes the next version. Runs in flight finish on theirs.

use async_recursion::async_recursion as boxed;
use domain::ids::{EmitterId, WorkflowId};
use domain::workflow::Document;
use serde_json::{Map, Value, json};
use store::Lookup;

use super::compile::{Compiled, compile, redacted};
use super::{kept, triggers, version_of};
use crate::manage::sources::{self, UpdateSource};
use crate::manage::subscriptions;
use crate::manage::users::check_quota;
use crate::paging::count;
use crate::records::{Kept, Workflow, WorkflowVersion, table};
use crate::{Caller, Error, Noun, Platform, sealed_props};

const WORKFLOWS_MAXIMUM: usize = 1000;
/// Versions kept of one workflow: what can be rolled back to, and what runs in flight may still go through.
const VERSIONS_KEPT: u32 = 50;

/// What changes; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct WorkflowChange {
    pub active: Option<bool>,
    /// The folder that `apply` makes it from.
    pub project: Option<String>,
    /// `{settings, triggers, steps}`
    pub document: Option<Value>,
}

/// A document that was checked and compiled.
pub(super) struct Prepared {
    pub(super) version: WorkflowVersion,
    pub(super) compiled: Compiled,
    pub(super) document: Document,
}

/// Of a document, which may be all that is given.
pub async fn create(caller: &Caller, platform: &Platform, new: impl Into<WorkflowChange>) -> Result<Workflow, Error> {
    create_from(caller, platform, new.into()).await
}

#[boxed]
async fn create_from(caller: &Caller, platform: &Platform, new: WorkflowChange) -> Result<Workflow, Error> {
    let WorkflowChange { active, project, document } = new;
    let given = document.unwrap_or_else(|| json!({}));
    sources::check_project(project.as_deref())?;
    check_quota(caller, platform).await?;
    if count::<Workflow>(&caller.tenant, platform).await? >= WORKFLOWS_MAXIMUM {
        return Err(Error::TooMany { noun: Noun::Workflow, limit: WORKFLOWS_MAXIMUM });
    }
    let id = WorkflowId::from_random(platform.entropy.bytes());
    let prepared = prepare(caller, platform, (&id, 1), given, &Map::new()).await?;
    let planned = triggers::plan(caller, platform, &id, &prepared.document, &[]).await?;
    let now = platform.clock.now_seconds();
    let settings = &prepared.document.settings;
    let workflow = Workflow {
        id,
        name: settings.name.clone(),
        is_active: active.unwrap_or(settings.auto_deploy),
        version: 1,
        triggers: planned.triggers.clone(),
        project,
        created_at: now,
        updated_at: now,
    };
    let committed = commit(caller, platform, prepared, &workflow, None).await;
    if committed.is_err() {
        planned.undo(caller, platform, &[]).await;
    }
    committed?;
    if !workflow.is_active {
        set_sources_active(caller, platform, &workflow).await?;
    }
    Ok(workflow)
}

/// The sources that were deployed with a workflow emit while it is active; new ones do from the beginning.
async fn set_sources_active(caller: &Caller, platform: &Platform, workflow: &Workflow) -> Result<(), Error> {
    for source in workflow.triggers.iter().filter_map(triggers::own_source) {
        let change = UpdateSource { active: Some(workflow.is_active), ..UpdateSource::default() };
        match sources::update(caller, platform, source.as_str(), change).await {
            // It was deleted by hand; the next deploy makes another one.
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub async fn update(caller: &Caller, platform: &Platform, id: &str, change: WorkflowChange) -> Result<Workflow, Error> {
    let before = kept(caller, platform, id).await?;
    sources::check_project(change.project.as_deref())?;
    let project = change.project.or_else(|| before.record.project.clone());
    let Some(document) = change.document else {
        return set_active(caller, platform, before, change.active, project).await;
    };
    check_quota(caller, platform).await?;
    let current = version_of(platform, &caller.tenant, &before.record, before.record.version).await?;
    let prepared = prepare_next(caller, platform, &before.record, &current, document).await?;
    let number = before.record.version + 1;
    let former = &before.record.triggers;
    let planned = triggers::plan(caller, platform, &before.record.id, &prepared.document, former).await?;
    let name = prepared.document.settings.name.clone();
    let workflow = Workflow {
        name: if name.is_empty() { before.record.name.clone() } else { name },
        is_active: change.active.unwrap_or(before.record.is_active),
        version: number,
        triggers: planned.triggers.clone(),
        project,
        updated_at: platform.clock.now_seconds(),
        ..before.record.clone()
    };
    if let Err(error) = commit(caller, platform, prepared, &workflow, Some(&before)).await {
        planned.undo(caller, platform, former).await;
        return Err(error);
    }
    clear_up(caller, platform, &before.record, &workflow).await?;
    Ok(workflow)
}

/// Once the next version is committed.
async fn clear_up(caller: &Caller, platform: &Platform, before: &Workflow, after: &Workflow) -> Result<(), Error> {
    triggers::forget(caller, platform, &before.triggers, &after.triggers).await;
    // What was made for new triggers is active.
    let has_new = after.triggers != before.triggers;
    if after.is_active != before.is_active || (has_new && !after.is_active) {
        set_sources_active(caller, platform, after).await?;
    }
    forget_version(caller, platform, after).await;
    Ok(())
}

/// An earlier version once more, as the next one.
pub async fn rollback(caller: &Caller, platform: &Platform, id: &str, number: u32) -> Result<Workflow, Error> {
    let before = kept(caller, platform, id).await?;
    let version = version_of(platform, &caller.tenant, &before.record, number).await?;
    let document = Document::parse(&version.document, 0).map_err(Error::Workflow)?;
    let former = &before.record.triggers;
    let planned = triggers::plan(caller, platform, &before.record.id, &document, former).await?;
    let next = before.record.version + 1;
    let name = version.name().to_owned();
    let workflow = Workflow {
        name: if name.is_empty() { before.record.name.clone() } else { name },
        version: next,
        triggers: planned.triggers.clone(),
        updated_at: platform.clock.now_seconds(),
        ..before.record.clone()
    };
    let version = WorkflowVersion { number: next, created_at: platform.clock.now_seconds(), ..version };
    let prepared = Prepared { version, compiled: Compiled::default(), document };
    if let Err(error) = commit(caller, platform, prepared, &workflow, Some(&before)).await {
        planned.undo(caller, platform, former).await;
        return Err(error);
    }
    clear_up(caller, platform, &before.record, &workflow).await?;
    Ok(workflow)
}

/// The version after `current`, of a document whose parts may be absent.
pub(super) async fn prepare_next(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    current: &WorkflowVersion,
    document: Value,
) -> Result<Prepared, Error> {
    let secrets = sealed_props::open(platform, &caller.tenant, workflow.id.as_str(), current.secrets.as_ref())?;
    let document = merged(&current.document, document);
    prepare(caller, platform, (&workflow.id, workflow.version + 1), document, &secrets).await
}

async fn prepare(
    caller: &Caller,
    platform: &Platform,
    (id, number): (&WorkflowId, u32),
    given: Value,
    secrets: &Map<String, Value>,
) -> Result<Prepared, Error> {
    let minimum = platform.config.limits.interval_seconds_minimum;
    let mut document = Document::parse(&given, minimum).map_err(Error::Workflow)?;
    if document.settings.name.is_empty() && number == 1 {
        document.settings.name = "Workflow".to_owned();
    }
    let compiled = compile(caller, platform, &document, secrets).await?;
    let version = WorkflowVersion {
        workflow: id.clone(),
        number,
        document: redacted(&given, &compiled.secrets),
        steps: compiled.steps.clone(),
        secrets: sealed_props::seal(platform, &caller.tenant, id.as_str(), &compiled.secrets)?,
        created_at: platform.clock.now_seconds(),
    };
    Ok(Prepared { version, compiled, document })
}

/// One batch: the version, its code, its triggers.
async fn commit(
    caller: &Caller,
    platform: &Platform,
    prepared: Prepared,
    workflow: &Workflow,
    before: Option<&Kept<Workflow>>,
) -> Result<(), Error> {
    let Prepared { version, compiled, .. } = prepared;
    let unchanged = before.map_or_else(|| table::absent(workflow), table::unchanged);
    let mut batch = platform.batch(&caller.tenant).require(unchanged);
    batch.preconditions.extend(compiled.preconditions);
    batch.operations.extend(compiled.operations);
    batch.operations.push(table::put(&version)?);
    batch.operations.push(table::put(workflow)?);
    let former = before.map(|before| &before.record);
    batch.operations.extend(triggers::operations(caller, platform, former, workflow).await?);
    if before.is_none() {
        let emitter = EmitterId::Workflow(workflow.id.clone());
        batch.operations.extend(subscriptions::subscribe_new_emitter(caller, platform, &emitter).await?);
    }
    platform.commit(batch).await?;
    Ok(())
}

/// Runs in flight go on; nothing starts new ones while it is not active.
async fn set_active(
    caller: &Caller,
    platform: &Platform,
    before: Kept<Workflow>,
    active: Option<bool>,
    project: Option<String>,
) -> Result<Workflow, Error> {
    let is_active = active.unwrap_or(before.record.is_active);
    if is_active == before.record.is_active && project == before.record.project {
        return Ok(before.record);
    }
    let updated_at = platform.clock.now_seconds();
    let workflow = Workflow { is_active, project, updated_at, ..before.record.clone() };
    if is_active != before.record.is_active {
        set_sources_active(caller, platform, &workflow).await?;
    }
    let mut batch = platform.batch(&caller.tenant).require(table::unchanged(&before)).then(table::put(&workflow)?);
    batch.operations.extend(triggers::operations(caller, platform, Some(&before.record), &workflow).await?);
    platform.commit(batch).await?;
    Ok(workflow)
}

// === impl WorkflowChange ===

impl From<Value> for WorkflowChange {
    fn from(document: Value) -> Self {
        Self { document: Some(document), ..Self::default() }
    }
}

/// Parts of a document that were not given stay as they were.
fn merged(before: &Value, given: Value) -> Value {
    match (before, given) {
        (Value::Object(before), Value::Object(given)) => {
            let mut whole = before.clone();
            whole.extend(given);
            Value::Object(whole)
        }
        (_, given) => given,
    }
}

/// Deletes the version that is one too many. Best effort: the next deploy would leave one more.
async fn forget_version(caller: &Caller, platform: &Platform, workflow: &Workflow) {
    let Some(number) = workflow.version.checked_sub(VERSIONS_KEPT).filter(|number| *number > 0) else { return };
    let id = WorkflowVersion::id_of(&workflow.id, number);
    let found = table::find::<WorkflowVersion>(&*platform.store, &caller.tenant, Lookup::Id(&id)).await;
    if let Ok(Some(kept)) = found
        && let Err(error) = super::delete::delete_version(&caller.tenant, platform, &kept.record).await
    {
        tracing::warn!(workflow.id = %workflow.id, %error, "an old version was not deleted");
    }
}
