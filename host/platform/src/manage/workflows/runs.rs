//! Runs of a workflow: started by hand, listed, looked at, cancelled, resumed, replayed.
//!
//! What is under way lies in records, what has ended in a stream of the workflow, which keeps the last of them.

mod pauses;
mod view;

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use domain::ids::RunId;
use domain::paging::Limit;
use domain::runs::{Trigger, TriggerKind};
use serde_json::Value;
use store::{Entry, EntryQuery, Lookup, Op, Page, Tenant};

use self::pauses::go_on;
use super::find;
use crate::invoke::workflow::{Hold, NewRun, Running, Version, end_early, enqueue};
use crate::invoke::{Frame, Owner, ReplySlot};
use crate::manage::newest::Newest;
use crate::manage::reply::ReplyView;
use crate::manage::users::check_quota;
use crate::paging::{PageOf, Unreadable};
use crate::records::workflow_run::RunState;
use crate::records::{EndedWorkflowRun, Kept, StreamEntry, Workflow, WorkflowRun, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use pauses::{RunPath, cancel_by_key, find_pause, resume_by_key};
pub use view::WorkflowRunView;

/// Runs under way that are looked through for a list.
const LOOKED_AT: usize = 10_000;
const READ_AT_ONCE: u32 = 100;

/// Which runs; newest first.
#[derive(Clone, Debug, Default)]
pub struct RunListQuery {
    pub limit: Limit,
    /// Runs that began before this one.
    pub after: Option<RunId>,
    /// Runs that began after this one.
    pub before: Option<RunId>,
    pub state: Option<RunState>,
    pub since_ms: Option<u64>,
    pub until_ms: Option<u64>,
}

/// Runs a workflow and answers when it has ended or is paused. An inactive one can be run too.
#[boxed]
pub async fn run(caller: &Caller, platform: &Platform, id: &str, event: Value) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    check_quota(caller, platform).await?;
    let version = current(caller, platform, &workflow).await?;
    let run = by_hand(platform, event).into_run(platform, &workflow, &version);
    drive(caller, platform, (&workflow, &version), run).await
}

/// The same without waiting.
pub async fn run_later(caller: &Caller, platform: &Platform, id: &str, event: Value) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    check_quota(caller, platform).await?;
    let version = current(caller, platform, &workflow).await?;
    queue(caller, platform, &workflow, &version, by_hand(platform, event)).await
}

pub async fn list_runs(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &RunListQuery,
) -> Result<PageOf<WorkflowRunView>, Error> {
    let workflow = find(caller, platform, id).await?;
    let mut found = Newest::new(query.limit, query.after.clone(), query.before.clone());
    // A run that ends between the two reads is in both or in the second one, and has ended.
    let at_work = under_way(caller, platform, &workflow, query, &mut found.unreadable).await?;
    ended(caller, platform, &workflow, query, &mut found).await?;
    at_work.into_iter().for_each(|view| found.add(view.id.clone(), view));
    Ok(found.into_page())
}

/// With its event and its steps.
pub async fn find_run(caller: &Caller, platform: &Platform, id: &str, run: &str) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    if let Some(kept) = stored(&caller.tenant, platform, run).await?.filter(|kept| kept.record.workflow == workflow.id)
    {
        let version = platform.versions().find(platform, &caller.tenant, &workflow.id, kept.record.version).await?;
        return Ok(WorkflowRunView::of(&kept.record, version.as_deref()).detailed(kept.record));
    }
    let ended = find_ended(caller, platform, &workflow, run).await?;
    Ok(WorkflowRunView::of_ended(&ended).with_details(ended))
}

/// A run that has not ended does not go on. A step that is at work may still end, and is not committed.
pub async fn cancel(caller: &Caller, platform: &Platform, id: &str, run: &str) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    let kept = under_way_run(caller, platform, &workflow, run).await?;
    end_cancelled(&caller.tenant, platform, kept).await
}

/// Ends all pauses of a run.
pub async fn resume(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    run: &str,
    data: &Value,
) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    let kept = under_way_run(caller, platform, &workflow, run).await?;
    go_on(&caller.tenant, platform, kept, None, data).await
}

/// The same event once more, on the newest version or on the same one.
pub async fn replay(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    run: &str,
    is_same_version: bool,
) -> Result<WorkflowRunView, Error> {
    let workflow = find(caller, platform, id).await?;
    check_quota(caller, platform).await?;
    let (event, event_id, number) = match find_ended(caller, platform, &workflow, run).await {
        Ok(ended) => (ended.event, ended.event_id, ended.version),
        Err(error) => {
            let kept = stored(&caller.tenant, platform, run).await?;
            let kept = kept.filter(|kept| kept.record.workflow == workflow.id).ok_or(error)?;
            (kept.record.event, kept.record.event_id, kept.record.version)
        }
    };
    let number = if is_same_version { number } else { workflow.version };
    let found = platform.versions().find(platform, &caller.tenant, &workflow.id, number).await?;
    let version = found.ok_or_else(|| Error::not_found(Noun::Version, number))?;
    let trigger = Trigger { kind: TriggerKind::Retry, id: Some(run.to_owned()) };
    let new = NewRun { trigger, event_id: Some(event_id), is_replay: true, ..by_hand(platform, event) };
    queue(caller, platform, &workflow, &version, new).await
}

async fn end_cancelled(
    tenant: &Tenant,
    platform: &Platform,
    kept: Kept<WorkflowRun>,
) -> Result<WorkflowRunView, Error> {
    let run = &kept.record;
    let mut batch = platform.batch(tenant).require(table::unchanged(&kept));
    batch.operations = end_early(platform, tenant, run, (RunState::Cancelled, None)).await?;
    batch.operations.push(Op::ClearTimer { timer: names::run_timer(&run.id) });
    platform.commit(batch).await?;
    let ended = EndedWorkflowRun::of(run, RunState::Cancelled, platform.clock.now_ms(), None);
    Ok(WorkflowRunView::of_ended(&ended))
}

fn by_hand(platform: &Platform, event: impl Into<domain::json::Json>) -> NewRun {
    NewRun {
        trigger: Trigger::of(TriggerKind::Manual),
        event_id: None,
        event: event.into(),
        cause: Frame::outside(platform).cause,
        queued_at_ms: platform.clock.now_ms(),
        is_replay: false,
    }
}

async fn current(caller: &Caller, platform: &Platform, workflow: &Workflow) -> Result<Arc<Version>, Error> {
    let found = platform.versions().find(platform, &caller.tenant, &workflow.id, workflow.version).await?;
    found.ok_or_else(|| Error::not_found(Noun::Version, workflow.version))
}

async fn queue(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    version: &Version,
    new: NewRun,
) -> Result<WorkflowRunView, Error> {
    let mut run = new.into_run(platform, workflow, version);
    let queued = enqueue(platform, version, &mut run)?;
    let mut batch = platform.batch(&caller.tenant).require(queued.room);
    batch.operations = queued.operations;
    platform.commit_work(batch).await.map_err(|error| match error {
        Error::Changed => Error::QueueFull { size: version.document.settings.queue_size },
        error => error,
    })?;
    queued.job.keep_place();
    Ok(WorkflowRunView::of(&run, None))
}

async fn drive(
    caller: &Caller,
    platform: &Platform,
    (workflow, version): (&Workflow, &Version),
    run: WorkflowRun,
) -> Result<WorkflowRunView, Error> {
    let owner = Owner::by_hand(caller);
    let slot = Arc::<ReplySlot>::default();
    let mut running = Running::new((platform, owner), (workflow, version), run, (None, Hold::Own));
    running.reply = Some(slot.clone());
    let state = match running.drive().await {
        // It failed, was stored before, and goes on from the queue.
        Err(_) if running.run.state == RunState::Queued => RunState::Queued,
        driven => driven?,
    };
    let error = running.error().cloned();
    let run = running.run;
    let mut view = WorkflowRunView::of(&run, Some(version));
    view.ended_at_ms = (!matches!(state, RunState::Paused | RunState::Queued)).then(|| platform.clock.now_ms());
    (view.state, view.error) = (state, error);
    view.reply = slot.take().map(ReplyView::from);
    Ok(view.detailed(run))
}

async fn stored(tenant: &Tenant, platform: &Platform, id: &str) -> Result<Option<Kept<WorkflowRun>>, Error> {
    if RunId::parse(id).is_err() {
        return Ok(None);
    }
    Ok(table::find::<WorkflowRun>(&*platform.store, tenant, Lookup::Id(id)).await?)
}

async fn under_way_run(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    run: &str,
) -> Result<Kept<WorkflowRun>, Error> {
    let found = stored(&caller.tenant, platform, run).await?;
    if let Some(kept) = found.filter(|kept| kept.record.workflow == workflow.id) {
        return Ok(kept);
    }
    let ended = find_ended(caller, platform, workflow, run).await?;
    Err(Error::NotPaused { run: ended.id.to_string() })
}

async fn find_ended(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    run: &str,
) -> Result<EndedWorkflowRun, Error> {
    let mut last = None;
    loop {
        let entries = read(caller, platform, workflow, last).await?;
        for entry in &entries {
            let read = EndedWorkflowRun::decode(&entry.value).map_err(Error::from);
            let Some(ended) = Unreadable::default().pass(&entry.id, read)? else { continue };
            if ended.id.as_str() == run {
                return Ok(ended);
            }
        }
        last = entries.last().and_then(|entry| entry.id.predecessor());
        if last.is_none() || entries.len() < READ_AT_ONCE as usize {
            return Err(Error::not_found(Noun::Run, run));
        }
    }
}

async fn read(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    last: Option<store::EntryId>,
) -> Result<Vec<Entry>, Error> {
    let query = EntryQuery { last, ..EntryQuery::newest(READ_AT_ONCE) };
    Ok(platform.store.entries(&caller.tenant, workflow.id.as_str(), names::WORKFLOW_RUNS, query).await?)
}

async fn under_way(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    query: &RunListQuery,
    unreadable: &mut Unreadable,
) -> Result<Vec<WorkflowRunView>, Error> {
    // They lie in the order of their records, which some runs get a little after they began.
    let most = query.limit.get() + READ_AT_ONCE as usize;
    let walks_back = query.before.is_some() && query.after.is_none();
    let (mut after, mut looked_at, mut found) = (None, 0, Vec::new());
    while looked_at < LOOKED_AT && (walks_back || found.len() < most) {
        let page = Page { after, before: None, limit: READ_AT_ONCE };
        let listed = table::list_readable::<WorkflowRun>(&*platform.store, &caller.tenant, page).await?;
        let Some((_, last)) = listed.places.last() else { break };
        (after, looked_at) = (Some(*last), looked_at + listed.places.len());
        unreadable.add(listed.unreadable);
        for run in listed.items.iter().filter(|run| run.workflow == workflow.id) {
            let view = WorkflowRunView::of(run, None);
            let is_within = query.after.as_ref().is_none_or(|after| view.id < *after)
                && query.before.as_ref().is_none_or(|before| view.id > *before);
            if is_within && query.wants(&view) {
                found.push(view);
            }
        }
        // Of those that come before a run the nearest are the last.
        let beyond = if walks_back { found.len().saturating_sub(most) } else { 0 };
        found.drain(..beyond);
    }
    Ok(found)
}

async fn ended(
    caller: &Caller,
    platform: &Platform,
    workflow: &Workflow,
    query: &RunListQuery,
    found: &mut Newest<WorkflowRunView>,
) -> Result<(), Error> {
    let mut last = None;
    loop {
        let entries = read(caller, platform, workflow, last).await?;
        for entry in &entries {
            let read = EndedWorkflowRun::decode(&entry.value).map_err(Error::from);
            let Some(run) = found.unreadable.pass(&entry.id, read)? else { continue };
            let view = WorkflowRunView::of_ended(&run);
            if query.wants(&view) {
                found.add(view.id.clone(), view);
            }
        }
        last = entries.last().and_then(|entry| entry.id.predecessor());
        if last.is_none() || entries.len() < READ_AT_ONCE as usize {
            return Ok(());
        }
    }
}

// === impl RunListQuery ===

impl RunListQuery {
    fn wants(&self, view: &WorkflowRunView) -> bool {
        self.state.is_none_or(|state| view.state == state)
            && self.since_ms.is_none_or(|since_ms| view.queued_at_ms >= since_ms)
            && self.until_ms.is_none_or(|until_ms| view.queued_at_ms < until_ms)
    }
}
