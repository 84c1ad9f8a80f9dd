//! Garbage collection of code. A component that was saved with its source, or only to be deployed, is deleted when no source
//! uses it; one that a user saved, named or deployed by its id stays until the user deletes it. A program is deleted with the
//! last component that refers to it, and its package texts with the last program.

use domain::ids::ComponentId;
use store::{CommitError, Enqueue, Lookup, Op, Precondition, Tenant};

use super::Resolved;
use crate::manage::chores::clear_emitter;
use crate::manage::recordings;
use crate::programs::release_at;
use crate::records::{
    Component, Job, Origin, ProgramRecord, RecordError, Revision, Source, SourceHistory, Stored, WorkflowVersion, table,
};
use crate::{Caller, Error, Noun, Platform};

/// What becomes of a component that came with a source when it is used once more, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::manage) enum Adoption {
    /// A user names it: it stays until a user deletes it.
    Stays,
    /// Its source goes back to it: it goes with its source, as before.
    Returns,
}

// === impl Adoption ===

impl Adoption {
    /// Whether a source goes back to code that came with it, which then takes its key again.
    pub(in crate::manage) fn returns(self, resolved: &Resolved) -> bool {
        self == Self::Returns && resolved.origin == Origin::Own && resolved.component.came_with_source
    }
}

/// Queued with the batch that takes the code out of use.
pub(in crate::manage) fn collect_later(
    platform: &Platform,
    component: &ComponentId,
    program: &str,
) -> Result<Op, RecordError> {
    collect_at(platform.clock.now_ms(), component, program)
}

pub(in crate::manage) fn collect_at(due_ms: u64, component: &ComponentId, program: &str) -> Result<Op, RecordError> {
    let payload = Job::CollectCode { component: component.clone(), program: program.to_owned() }.encode()?;
    Ok(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }))
}

/// The same for what a source no longer runs. Components of the registry are shared and stay.
pub(in crate::manage) fn collect_revision(platform: &Platform, former: &Revision) -> Result<Option<Op>, RecordError> {
    collect_revision_at(platform.clock.now_ms(), former)
}

pub(in crate::manage) fn collect_revision_at(due_ms: u64, former: &Revision) -> Result<Option<Op>, RecordError> {
    match former.origin {
        Origin::Own => collect_at(due_ms, &former.component_id, &former.program).map(Some),
        Origin::Registry => Ok(None),
    }
}

/// After a deploy that was refused: code that was saved for it alone goes.
pub(in crate::manage) async fn collect_unadopted(caller: &Caller, platform: &Platform, id: Option<&str>) {
    let Some(id) = id else {
        return;
    };
    if let Err(error) = try_collect_unadopted(caller, platform, id).await {
        tracing::warn!(component.id = id, %error, "code of a refused deploy was not queued to be removed");
    }
}

async fn try_collect_unadopted(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = table::find::<Component>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let Some(Component { id, program, .. }) = found.map(|kept| kept.record).filter(|one| one.is_temporary) else {
        return Ok(());
    };
    platform.store.commit(platform.batch(&caller.tenant).then(collect_later(platform, &id, &program)?)).await?;
    Ok(())
}

/// Undoes [`still_there`] after a failed deploy: the component is again collected with its source.
pub(in crate::manage) async fn give_back(
    caller: &Caller,
    platform: &Platform,
    resolved: &Resolved,
) -> Result<(), Error> {
    let Resolved { unsaved: None, origin: Origin::Own, component: Component { came_with_source: true, id, .. } } =
        resolved
    else {
        return Ok(());
    };
    let found = table::find::<Component>(&*platform.store, &caller.tenant, Lookup::Id(id.as_str())).await?;
    let Some(mut kept) = found.filter(|kept| !kept.record.came_with_source) else {
        return Ok(());
    };
    kept.record.came_with_source = true;
    let batch = platform.batch(&caller.tenant).require(table::unchanged(&kept)).then(table::put(&kept.record)?);
    match platform.store.commit(batch).await {
        // Another request uses it by its id: then it stays.
        Err(CommitError::Conflict { .. }) => Ok(()),
        settled => settled.map(drop).map_err(Error::from),
    }
}

/// What must hold when something is committed that runs a saved component: it is still there. None for code that is
/// saved in the same batch, and for the registry's, which stays.
pub(in crate::manage) async fn still_there(
    caller: &Caller,
    platform: &Platform,
    resolved: &Resolved,
    adoption: Adoption,
) -> Result<Option<Precondition>, Error> {
    match resolved {
        Resolved { unsaved: None, origin: Origin::Own, component } => {
            let id = component.id.as_str();
            adopt(caller, platform, id, adoption).await?.map(Some).ok_or_else(|| Error::not_found(Noun::Component, id))
        }
        _ => Ok(None),
    }
}

/// Makes a component that came with a source one that stays: it is about to be used by its name. One that was saved to be
/// deployed, or that its source goes back to, is only written again: either way a concurrent collection or deletion finds
/// it changed, or has taken it.
async fn adopt(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    adoption: Adoption,
) -> Result<Option<Precondition>, Error> {
    let found = table::find::<Component>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let Some(mut kept) = found else {
        return Ok(None);
    };
    if !kept.record.came_with_source {
        return Ok(Some(table::unchanged(&kept)));
    }
    kept.record.came_with_source = kept.record.is_temporary || adoption == Adoption::Returns;
    let batch = platform.batch(&caller.tenant).require(table::unchanged(&kept)).then(table::put(&kept.record)?);
    match platform.store.commit(batch).await {
        Err(CommitError::Conflict { .. }) => Err(Error::not_found(Noun::Component, id)),
        settled => settled.map(|_| Some(table::unchanged(&kept.rewritten()))).map_err(Error::from),
    }
}

/// The chore. In this order, because a request that saves or deploys the same code meanwhile fails a precondition of the
/// chore, and the code stays.
pub(in crate::manage) async fn collect(
    tenant: &Tenant,
    platform: &Platform,
    component: &ComponentId,
    digest: &str,
) -> Result<bool, Error> {
    let program = table::find::<ProgramRecord>(&*platform.store, tenant, Lookup::Id(digest)).await?;
    if !collect_component(tenant, platform, component).await? {
        return Ok(true);
    }
    // What it stored when it was run by hand.
    if !clear_emitter(tenant, platform, component.as_str()).await? {
        return Ok(false);
    }
    let Some(program) = program else {
        return Ok(true);
    };
    let version = program.version;
    let sources = table::list_all::<Source>(&*platform.store, tenant).await?;
    let components = table::list_all::<Component>(&*platform.store, tenant).await?;
    let versions = table::list_all::<WorkflowVersion>(&*platform.store, tenant).await?;
    // After the sources: an update moves code from a source to its history in one batch.
    let histories = table::list_all::<SourceHistory>(&*platform.store, tenant).await?;
    // What was recorded can be replayed as long as it is kept.
    let is_used = sources.iter().any(|kept| kept.record.revision.program == digest)
        || components.iter().any(|kept| kept.record.program == digest)
        || versions.iter().flat_map(|kept| &kept.record.steps).any(|step| step.program == digest)
        || histories.iter().flat_map(|kept| &kept.record.versions).any(|version| version.program == digest)
        || recordings::use_program(platform, tenant, digest).await?;
    if is_used {
        return Ok(true);
    }
    let (kind, id) = (ProgramRecord::KIND.to_owned(), digest.to_owned());
    let unchanged = Precondition::RecordVersion { kind: kind.clone(), id: id.clone(), version };
    let mut batch = platform.batch(tenant).require(unchanged).then(Op::DeleteRecord { kind, id });
    batch.operations.extend(release_at(batch.now_ms, &program.record.packages)?);
    match platform.store.commit(batch).await {
        Err(CommitError::Conflict { .. }) => Ok(true),
        Ok(_) => {
            // Another tenant may have the same code: its image is then made again when it is next needed.
            platform.sandbox.discard(digest);
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the component is gone.
async fn collect_component(tenant: &Tenant, platform: &Platform, id: &ComponentId) -> Result<bool, Error> {
    let found = table::find::<Component>(&*platform.store, tenant, Lookup::Id(id.as_str())).await?;
    let Some(kept) = found else {
        return Ok(true);
    };
    if !kept.record.came_with_source || kept.record.holds_key {
        return Ok(false);
    }
    let sources = table::list_all::<Source>(&*platform.store, tenant).await?;
    let versions = table::list_all::<WorkflowVersion>(&*platform.store, tenant).await?;
    // After the sources: an update moves code from a source to its history in one batch.
    let histories = table::list_all::<SourceHistory>(&*platform.store, tenant).await?;
    let is_used = sources.iter().any(|source| source.record.revision.component_id == *id)
        || versions.iter().flat_map(|kept| &kept.record.steps).any(|step| step.component_id == *id)
        || histories.iter().flat_map(|kept| &kept.record.versions).any(|version| version.component_id == *id);
    if is_used {
        return Ok(false);
    }
    let batch = platform.batch(tenant).require(table::unchanged(&kept)).then(table::delete(&kept.record));
    match platform.store.commit(batch).await {
        Err(CommitError::Conflict { .. }) => Ok(false),
        settled => settled.map(|_| true).map_err(Error::from),
    }
}
