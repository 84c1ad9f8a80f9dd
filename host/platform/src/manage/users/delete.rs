//! Deleting an account with everything it has.
//!
//! The record is deleted first, in the batch that queues the rest: from then on no key of the account works and nothing of it
//! runs. A chore clears what is left, step by step, and once more when no run can be left that writes. Hooks are not
//! run: an account is deleted also when its code fails, hangs, or must not run again.

use domain::ids::{DataStoreId, UserId};
use store::{DirectoryWrite, Enqueue, Lookup, Op, Page, Tenant};

use crate::invoke::Dedupe;
use crate::manage::audit;
use crate::manage::chores::{clear_emitter, clear_values};
use crate::manage::connects;
use crate::manage::hooks::stop_timers;
use crate::manage::sessions;
use crate::manage::sources::{change_ms, endpoints};
use crate::manage::workflows;
use crate::records::{
    Acceptance, Account, ApiKey, AppClient, AutoSubscription, Component, Connect, DataStore, DeadLetter, Job,
    ProgramRecord, Session, Source, SourceHistory, Stored, Subscription, User, Webhook, WebhookHealth, Workflow,
    WorkflowRun, WorkflowVersion, decode, names, table,
};
use crate::{Caller, Error, Noun, Platform, data_stores, programs};

/// Records per batch; a program may be a megabyte, and a deletion does not read it.
const AT_ONCE: u32 = 100;

/// What an account may have besides sources and keys, which leave more behind than their record.
const KINDS: [&str; 14] = [
    SourceHistory::KIND,
    Component::KIND,
    ProgramRecord::KIND,
    Webhook::KIND,
    WebhookHealth::KIND,
    Account::KIND,
    AppClient::KIND,
    DataStore::KIND,
    Subscription::KIND,
    AutoSubscription::KIND,
    WorkflowVersion::KIND,
    DeadLetter::KIND,
    Acceptance::KIND,
    Dedupe::KIND,
];

pub async fn delete(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    caller.require_admin()?;
    let operator = names::operator();
    let found = table::find::<User>(&*platform.store, &operator, Lookup::Id(id)).await?;
    let kept = found.ok_or_else(|| Error::not_found(Noun::User, id))?;
    // As with roles: without an admin, no account could be managed.
    if kept.record.id == caller.user.id {
        return Err(Error::OwnRole);
    }
    let user = &kept.record;
    let mut batch = platform.batch(&operator).require(table::unchanged(&kept)).then(table::delete(user));
    let (username, email) = (user.username.clone(), user.email.clone());
    let payload = Job::ForgetUser { user: user.id.clone(), username, email }.encode()?;
    for due_ms in [batch.now_ms, batch.now_ms.saturating_add(change_ms(platform))] {
        let payload = payload.clone();
        batch = batch.then(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }));
    }
    platform.store.commit(batch).await?;
    Ok(())
}

/// One bounded step; true when nothing is left.
pub(in crate::manage) async fn forget_step(
    platform: &Platform,
    user: &UserId,
    claims: [String; 2],
) -> Result<bool, Error> {
    let tenant = names::tenant(user);
    let mut is_done = forget_sources(platform, &tenant).await? & forget_keys(platform, &tenant).await?;
    is_done &= forget_sessions(platform, &tenant).await? & forget_connects(platform, &tenant).await?;
    is_done &= forget_workflows(platform, &tenant).await? & forget_runs(platform, &tenant).await?;
    for kind in KINDS {
        is_done &= forget_kind(platform, &tenant, kind).await?;
    }
    is_done &= clear_emitter(&tenant, platform, audit::EMITTER).await?;
    is_done &= clear_emitter(&tenant, platform, names::RECORDINGS).await?;
    // After the programs that refer to them.
    if !is_done || !programs::forget(platform, &tenant).await? {
        return Ok(false);
    }
    for key in claims {
        // Another account may have the name by the time the chore is performed again.
        if platform.store.look_up(&key).await?.is_some_and(|holder| holder == user.as_str().as_bytes()) {
            platform.store.write_directory(DirectoryWrite::Remove { key }).await?;
        }
    }
    Ok(true)
}

async fn forget_sources(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<Source>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    for kept in &listed.items {
        let source = &kept.record;
        let mut batch = platform.batch(tenant);
        batch.operations.extend(stop_timers(source));
        platform.store.commit(batch).await?;
        while !clear_emitter(tenant, platform, source.id.as_str()).await? {}
        endpoints::remove(platform, source.endpoint_keys()).await?;
        platform.store.commit(platform.batch(tenant).then(table::delete(source))).await?;
    }
    Ok(listed.items.is_empty())
}

async fn forget_workflows(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<Workflow>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    for kept in &listed.items {
        let workflow = &kept.record;
        let mut batch = platform.batch(tenant);
        batch.operations = workflows::clear_run_timers(Some(workflow), std::iter::empty());
        platform.store.commit(batch).await?;
        while !clear_emitter(tenant, platform, workflow.id.as_str()).await? {}
        endpoints::remove(platform, workflow.endpoint_keys()).await?;
        platform.store.commit(platform.batch(tenant).then(table::delete(workflow))).await?;
    }
    Ok(listed.items.is_empty())
}

/// Runs that have not ended, and when they would go on.
async fn forget_runs(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<WorkflowRun>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    let mut batch = platform.batch(tenant);
    batch.operations = workflows::clear_run_timers(None, listed.items.iter().map(|kept| &kept.record));
    batch.operations.extend(listed.items.iter().map(|kept| table::delete(&kept.record)));
    if !batch.operations.is_empty() {
        platform.store.commit(batch).await?;
    }
    Ok(listed.items.is_empty())
}

async fn forget_keys(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<ApiKey>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    for kept in &listed.items {
        let key = names::api_key(&kept.record.hash);
        platform.store.write_directory(DirectoryWrite::Remove { key }).await?;
        platform.store.commit(platform.batch(tenant).then(table::delete(&kept.record))).await?;
    }
    Ok(listed.items.is_empty())
}

async fn forget_sessions(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<Session>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    for kept in &listed.items {
        sessions::remove(tenant, platform, &kept.record).await?;
    }
    Ok(listed.items.is_empty())
}

async fn forget_connects(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<Connect>(&*platform.store, tenant, Page::newest(AT_ONCE)).await?;
    for kept in &listed.items {
        connects::remove(tenant, platform, &kept.record).await?;
    }
    Ok(listed.items.is_empty())
}

async fn forget_kind(platform: &Platform, tenant: &Tenant, kind: &str) -> Result<bool, Error> {
    let listed = platform.store.records(tenant, kind, Page::newest(AT_ONCE)).await?;
    if listed.items.is_empty() {
        return Ok(true);
    }
    // What actions stored is under the component's id, what the steps of workflows stored under each step.
    if [Component::KIND, WorkflowVersion::KIND, Webhook::KIND].contains(&kind) {
        for record in &listed.items {
            while !clear_emitter(tenant, platform, &record.id).await? {}
            if kind == WorkflowVersion::KIND {
                workflows::clear_step_values(tenant, platform, &decode(&record.value)?).await?;
            }
        }
    }
    if kind == DataStore::KIND {
        for record in &listed.items {
            if let Ok(id) = DataStoreId::parse(&record.id) {
                data_stores::clear_timers(platform, tenant, &id).await?;
            }
            while !clear_values(tenant, platform, names::data_store(&record.id)).await? {}
        }
    }
    let mut batch = platform.batch(tenant);
    let gone = listed.items.into_iter().map(|record| Op::DeleteRecord { kind: kind.to_owned(), id: record.id });
    batch.operations.extend(gone);
    platform.store.commit(batch).await?;
    Ok(false)
}
