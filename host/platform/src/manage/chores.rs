//! Clearing up that outlives a request: what the control plane leaves to the queue.
//!
//! The worker of the queue calls [`perform`] with each job and acknowledges it when that says so. A chore may be
//! performed twice: every step is a deletion.

use async_trait::async_trait;
use store::{Lookup, Op, Tenant};

use super::code::{collect, collect_revision};
use super::events::delete_step;
use super::hooks::start_timers;
use super::recordings;
use super::sources::endpoints;
use super::subscriptions::unsubscribe_operations;
use super::users::forget_step;
use super::workflows;
use crate::invoke::Dedupe;
use crate::ports::{Chores, Progress};
use crate::records::{Job, Phase, Source, Stored, names, table};
use crate::{Error, Platform, data_stores, programs};

/// Entries and values per batch.
const CLEARED_AT_ONCE: u32 = 1000;

/// The control plane's end of the queue.
pub struct ChoreRunner(pub Platform);

#[async_trait]
impl Chores for ChoreRunner {
    async fn perform(&self, tenant: &Tenant, job: &Job) -> Result<Progress, Error> {
        perform(tenant, &self.0, job).await
    }
}

/// One bounded step of a chore.
pub(crate) async fn perform(tenant: &Tenant, platform: &Platform, job: &Job) -> Result<Progress, Error> {
    let is_done = match job {
        Job::DeleteEvents { .. } => delete_step(tenant, platform, job).await?,
        Job::ForgetSource { source } => {
            recordings::delete_of(platform, tenant, source.as_str()).await?;
            clear_emitter(tenant, platform, source.as_str()).await?
        }
        Job::ForgetWorkflow { workflow } => {
            recordings::delete_of(platform, tenant, workflow.as_str()).await?;
            workflows::forget_step(tenant, platform, workflow).await?
        }
        Job::ForgetDataStore { data_store } => {
            data_stores::clear_timers(platform, tenant, data_store).await?;
            clear_values(tenant, platform, names::data_store(data_store.as_str())).await?
        }
        Job::AbandonDeploy { source } => abandon(tenant, platform, source.as_str()).await?,
        Job::EndChange { source, until_ms } => end_change(tenant, platform, source.as_str(), *until_ms).await?,
        Job::CollectCode { component, program } => collect(tenant, platform, component, program).await?,
        Job::ReleasePackages { packages } => {
            programs::release(tenant, platform, packages).await?;
            true
        }
        Job::ForgetUser { user, username, email } => {
            forget_step(platform, user, [names::username(username), names::email(email)]).await?
        }
    };
    Ok(if is_done { Progress::Done } else { Progress::More })
}

/// One step of clearing what an emitter emitted and stored: a source, a workflow, a component that was run by hand.
pub(super) async fn clear_emitter(tenant: &Tenant, platform: &Platform, id: &str) -> Result<bool, Error> {
    let batch = platform
        .batch(tenant)
        .then(Op::DropEmitter { emitter: id.to_owned(), max: CLEARED_AT_ONCE })
        .then(Op::ClearScope { scope: names::db_of(id), max: CLEARED_AT_ONCE })
        .then(Op::DeleteRecord { kind: Dedupe::KIND.to_owned(), id: id.to_owned() });
    let removed = platform.store.commit(batch).await?.removed;
    Ok(removed.iter().all(|removed| *removed < u64::from(CLEARED_AT_ONCE)))
}

/// One step of clearing the values of `db` in a scope.
pub(super) async fn clear_values(tenant: &Tenant, platform: &Platform, scope: String) -> Result<bool, Error> {
    let batch = platform.batch(tenant).then(Op::ClearScope { scope, max: CLEARED_AT_ONCE });
    let removed = platform.store.commit(batch).await?.removed;
    Ok(removed.iter().all(|removed| *removed < u64::from(CLEARED_AT_ONCE)))
}

/// A change whose host died: the source goes on as it was written last, and its timers run again.
async fn end_change(tenant: &Tenant, platform: &Platform, id: &str, until_ms: u64) -> Result<bool, Error> {
    let found = table::find::<Source>(&*platform.store, tenant, Lookup::Id(id)).await?;
    let Some(kept) = found.filter(|kept| kept.record.phase == Phase::Changing { until_ms }) else {
        return Ok(true);
    };
    let mut source = kept.record.clone();
    source.phase = Phase::Settled;
    let mut batch = platform.batch(tenant).require(table::unchanged(&kept)).then(table::put(&source)?);
    if source.is_active {
        batch.operations.extend(start_timers(platform, &source)?);
    }
    platform.store.commit(batch).await?;
    Ok(true)
}

/// A deploy whose host died: the source is removed as if a hook had failed, without running anything.
async fn abandon(tenant: &Tenant, platform: &Platform, id: &str) -> Result<bool, Error> {
    let Some(kept) = table::find::<Source>(&*platform.store, tenant, Lookup::Id(id)).await? else {
        return Ok(true);
    };
    if !matches!(kept.record.phase, Phase::Deploying { .. }) {
        return Ok(true);
    }
    let mut batch = platform.batch(tenant).require(table::unchanged(&kept)).then(table::delete(&kept.record));
    batch.operations.extend(unsubscribe_operations(tenant, platform, id).await?);
    batch.operations.extend(collect_revision(platform, &kept.record.revision)?);
    platform.store.commit(batch).await?;
    endpoints::remove(platform, kept.record.endpoint_keys()).await?;
    clear_emitter(tenant, platform, id).await
}
