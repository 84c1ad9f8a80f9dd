//! Deleting a component: refused while a source or a workflow runs it.
//!
//! A concurrent deploy may refer to it by its id. So the deletion first marks the component as unsaved, as if it had only
//! come with a source: a deploy that read it before fails its precondition, and a deploy that reads it afterwards saves it
//! again, which fails the precondition of the deletion. Its program and what it stored are deleted by a chore.

use domain::ids::ComponentId;

use crate::manage::{code, workflows};
use crate::records::{Component, Kept, Phase, Source, table};
use crate::{Caller, Error, Noun, Platform, UsedBy};

pub async fn delete(caller: &Caller, platform: &Platform, key_or_id: &str) -> Result<(), Error> {
    let kept = own(caller, platform, key_or_id).await?;
    check_unused(caller, platform, &kept.record.id).await?;
    let came_with_source = kept.record.came_with_source;
    let given_up = put(caller, platform, kept, true).await?;
    if let Err(used) = check_unused(caller, platform, &given_up.record.id).await {
        put(caller, platform, given_up, came_with_source).await?;
        return Err(used);
    }
    let Component { id, program, .. } = &given_up.record;
    let batch =
        platform.batch(&caller.tenant).require(table::unchanged(&given_up)).then(table::delete(&given_up.record));
    platform.store.commit(batch.then(code::collect_later(platform, id, program)?)).await?;
    Ok(())
}

/// The caller's own: what is published is taken back, not deleted.
async fn own(caller: &Caller, platform: &Platform, key_or_id: &str) -> Result<Kept<Component>, Error> {
    let found = table::find(&*platform.store, &caller.tenant, super::lookup(key_or_id)).await?;
    found.ok_or_else(|| Error::not_found(Noun::Component, key_or_id))
}

async fn put(
    caller: &Caller,
    platform: &Platform,
    kept: Kept<Component>,
    came_with_source: bool,
) -> Result<Kept<Component>, Error> {
    let unchanged = table::unchanged(&kept);
    let record = Component { came_with_source, ..kept.record.clone() };
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&record)?)).await?;
    Ok(Kept { record, ..kept }.rewritten())
}

async fn check_unused(caller: &Caller, platform: &Platform, id: &ComponentId) -> Result<(), Error> {
    let sources = table::list_all::<Source>(&*platform.store, &caller.tenant).await?;
    let running = sources.iter().map(|kept| &kept.record).filter(|source| source.revision.component_id == *id);
    let mut used_by: Vec<UsedBy> = running.map(Source::as_user).collect();
    let versions = workflows::current_versions(&caller.tenant, platform).await?;
    let steps = versions.iter().flat_map(|version| version.steps.iter().map(move |step| (version, step)));
    used_by.extend(steps.filter(|(_, step)| step.component_id == *id).map(|(workflow, step)| workflow.as_user(step)));
    if !used_by.is_empty() {
        return Err(Error::InUse { noun: Noun::Component, id: id.to_string(), used_by });
    }
    // An update that fails goes back to the code before, which may be this.
    let now_ms = platform.clock.now_ms();
    let is_changing =
        |source: &&Source| matches!(source.phase, Phase::Changing { .. }) && !source.phase.is_settled(now_ms);
    match sources.iter().map(|kept| &kept.record).find(is_changing) {
        Some(source) => Err(Error::Busy { noun: Noun::Source, id: source.id.to_string() }),
        None => Ok(()),
    }
}
