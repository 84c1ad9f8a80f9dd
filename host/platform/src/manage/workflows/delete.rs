//! Deleting a workflow with everything it has: triggers at once, the rest by a chore.

use domain::ids::WorkflowId;
use store::{Enqueue, Op, Page, Tenant};

use super::{kept, triggers};
use crate::manage::chores::{clear_emitter, clear_values};
use crate::manage::sources::change_ms;
use crate::manage::{code, subscriptions};
use crate::records::{Job, Stored, Workflow, WorkflowRun, WorkflowVersion, names, table};
use crate::{Caller, Error, Platform};

/// Records per batch.
const AT_ONCE: u32 = 100;

pub async fn delete(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let before = kept(caller, platform, id).await?;
    let workflow = &before.record;
    let mut batch = platform.batch(&caller.tenant).require(table::unchanged(&before)).then(table::delete(workflow));
    batch.operations.extend(triggers::end_all(caller, platform, workflow).await?);
    let ended = subscriptions::unsubscribe_operations(&caller.tenant, platform, workflow.id.as_str()).await?;
    batch.operations.extend(ended);
    let now_ms = batch.now_ms;
    // At once, and once more when no run of it can be left that writes.
    for due_ms in [now_ms, now_ms.saturating_add(change_ms(platform))] {
        let payload = Job::ForgetWorkflow { workflow: workflow.id.clone() }.encode()?;
        batch.operations.push(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }));
    }
    platform.store.commit(batch).await?;
    platform.versions().forget(&caller.tenant);
    triggers::forget(caller, platform, &workflow.triggers, &[]).await;
    Ok(())
}

/// One bounded step of the chore; true when nothing is left.
pub(in crate::manage) async fn forget_step(
    tenant: &Tenant,
    platform: &Platform,
    workflow: &WorkflowId,
) -> Result<bool, Error> {
    let versions = table::list_all::<WorkflowVersion>(&*platform.store, tenant).await?;
    for kept in versions.iter().filter(|kept| kept.record.workflow == *workflow) {
        clear_step_values(tenant, platform, &kept.record).await?;
        delete_version(tenant, platform, &kept.record).await?;
    }
    forget_runs(tenant, platform, workflow).await?;
    clear_emitter(tenant, platform, workflow.as_str()).await
}

pub(super) async fn delete_version(
    tenant: &Tenant,
    platform: &Platform,
    version: &WorkflowVersion,
) -> Result<(), Error> {
    let mut batch = platform.batch(tenant).then(table::delete(version));
    for step in &version.steps {
        batch.operations.push(code::collect_later(platform, &step.component_id, &step.program)?);
    }
    platform.store.commit(batch).await?;
    platform.versions().forget(tenant);
    Ok(())
}

/// What the steps of a version stored.
pub(in crate::manage) async fn clear_step_values(
    tenant: &Tenant,
    platform: &Platform,
    version: &WorkflowVersion,
) -> Result<(), Error> {
    for step in &version.steps {
        let scope = names::db_of_step(&version.workflow, &step.name);
        while !clear_values(tenant, platform, scope.clone()).await? {}
    }
    Ok(())
}

/// The operations that end the timers of a workflow and of its paused runs.
pub(in crate::manage) fn clear_run_timers<'a>(
    workflow: Option<&'a Workflow>,
    runs: impl Iterator<Item = &'a WorkflowRun>,
) -> Vec<Op> {
    let schedules = workflow.into_iter().flat_map(|workflow| {
        let timer = |id: &String| names::workflow_timer(&workflow.id, id);
        workflow.triggers.iter().map(move |trigger| timer(&trigger.id))
    });
    let pauses = runs.map(|run| names::run_timer(&run.id));
    schedules.chain(pauses).map(|timer| Op::ClearTimer { timer }).collect()
}

/// Runs that have not ended: nothing goes on with them.
async fn forget_runs(tenant: &Tenant, platform: &Platform, workflow: &WorkflowId) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = Page { after, before: None, limit: AT_ONCE };
        let listed = table::list::<WorkflowRun>(&*platform.store, tenant, page).await?;
        let Some(last) = listed.items.last() else { return Ok(()) };
        after = Some(last.position);
        let gone: Vec<&WorkflowRun> =
            listed.items.iter().map(|kept| &kept.record).filter(|run| run.workflow == *workflow).collect();
        let mut batch = platform.batch(tenant);
        batch.operations = clear_run_timers(None, gone.iter().copied());
        let deleted = |run: &&WorkflowRun| Op::DeleteRecord { kind: WorkflowRun::KIND.to_owned(), id: run.id() };
        batch.operations.extend(gone.iter().map(deleted));
        if !batch.operations.is_empty() {
            platform.store.commit(batch).await?;
        }
    }
}
