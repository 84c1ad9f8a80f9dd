//! Deploying: the source exists, then `deploy` runs, then `activate`; when one of them fails it never was.

use std::collections::BTreeMap;

use domain::component::{Hook, Kind};
use domain::ids::{EmitterId, SourceId};
use domain::redact::Redaction;
use domain::retention::RunRetention;
use domain::runs::RecordingMode;
use serde_json::{Map, Value};
use store::{Batch, CommitError, Enqueue, Op};

use super::delete::forget;
use super::{endpoints, naming};
use crate::manage::code::{self, Adoption, CodeRequest, Resolved};
use crate::manage::users::check_quota;
use crate::manage::{configure, hooks, subscriptions};
use crate::paging::count;
use crate::records::{Job, Phase, Revision, Source, table};
use crate::{Caller, Error, Noun, Platform};

#[derive(Clone, Debug, Default)]
pub struct CreateSource {
    pub component: CodeRequest,
    pub name: Option<String>,
    pub configured_props: Map<String, Value>,
    /// The folder it is applied from.
    pub project: Option<String>,
}

pub async fn create(caller: &Caller, platform: &Platform, request: CreateSource) -> Result<Source, Error> {
    let component_id = request.component.component_id.clone();
    let created = deploy(caller, platform, request).await;
    if created.is_err() {
        code::collect_unadopted(caller, platform, component_id.as_deref()).await;
    }
    created
}

async fn deploy(caller: &Caller, platform: &Platform, request: CreateSource) -> Result<Source, Error> {
    if request.component.is_empty() {
        return Err(Error::MissingOneOf { names: &["component_id", "component_code", "component_url", "key"] });
    }
    check_quota(caller, platform).await?;
    let limit = platform.config.sources_per_account;
    if count::<Source>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::Source, limit });
    }
    if let Some(name) = &request.name {
        naming::check(name)?;
    }
    naming::check_project(request.project.as_deref())?;
    let mut resolved = code::resolve(caller, platform, request.component).await?;
    code::require_kind(&resolved.component, Kind::Source)?;
    let id = SourceId::from_random(platform.entropy.bytes());
    let values = configure::Values { given: Some(request.configured_props), kept: Map::new() };
    let revision = configure::revision(caller, platform, &id, &resolved, values).await?;
    let name = request.name.unwrap_or_else(|| domain::slug::slugify(&resolved.component.description.name));
    let source = Source { project: request.project, ..new_source(platform, id, name, revision) };
    let source = put_new(caller, platform, &resolved, source).await?;
    match run_hooks(caller, platform, &source).await {
        Ok(()) => settle(caller, platform, &mut resolved, source).await,
        Err(error) => {
            code::give_back(caller, platform, &resolved).await?;
            forget(caller, platform, &source, unsaved_component(&resolved)).await?;
            Err(error)
        }
    }
}

/// Undoes the saving of a component that came with its source.
pub(super) fn unsaved_component(resolved: &Resolved) -> Vec<Op> {
    resolved.unsaved.iter().map(|_| table::delete(&resolved.component)).collect()
}

fn new_source(platform: &Platform, id: SourceId, name: String, revision: Revision) -> Source {
    let now = platform.clock.now_seconds();
    let until_ms = platform.clock.now_ms().saturating_add(change_ms(platform));
    let mut source = Source {
        id,
        name,
        slug: String::new(),
        endpoint_key: endpoints::new_key(platform),
        endpoints: BTreeMap::new(),
        is_active: true,
        recording: RecordingMode::default(),
        retention: RunRetention::default(),
        redaction: Redaction::default(),
        phase: Phase::Deploying { until_ms },
        version: 1,
        versioned_at: None,
        project: None,
        revision,
        created_at: now,
        updated_at: now,
    };
    source.assign_endpoints(&source.clone(), || endpoints::new_key(platform));
    source
}

/// The longest a change can take: three hooks, one after the other, and the time around them.
pub(in crate::manage) fn change_ms(platform: &Platform) -> u64 {
    platform.config.limits.timer_deadline_ms.saturating_mul(3).saturating_add(60_000)
}

/// Writes the source under a free slug. From here on its endpoint answers: services call back during the handshake.
async fn put_new(
    caller: &Caller,
    platform: &Platform,
    resolved: &Resolved,
    mut source: Source,
) -> Result<Source, Error> {
    endpoints::register(caller, platform, &source.id, source.endpoint_keys()).await?;
    let put = try_put(caller, platform, resolved, &mut source).await;
    if put.is_err() {
        endpoints::remove(platform, source.endpoint_keys()).await?;
    }
    put.map(|()| source)
}

async fn try_put(caller: &Caller, platform: &Platform, resolved: &Resolved, source: &mut Source) -> Result<(), Error> {
    const TRIES: usize = 16;
    for _ in 0..TRIES {
        source.slug = naming::free_slug(&caller.tenant, platform, &source.name, None).await?;
        let batch = creation(caller, platform, resolved, source).await?;
        match platform.commit(batch).await {
            Ok(_) => return Ok(()),
            // The slug was taken in between, or the component changed.
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Changed)
}

async fn creation(caller: &Caller, platform: &Platform, resolved: &Resolved, source: &Source) -> Result<Batch, Error> {
    let mut batch = platform.batch(&caller.tenant).require(table::absent(source));
    batch.preconditions.extend(code::still_there(caller, platform, resolved, Adoption::Stays).await?);
    if let Some(program) = &resolved.unsaved {
        let saving = code::saving(platform, &caller.tenant, &resolved.component, program).await?;
        batch.preconditions.extend(saving.preconditions);
        batch.operations = saving.operations;
    }
    batch.operations.push(table::put(source)?);
    batch.operations.extend(code::log_warnings(platform, resolved, &source.id)?);
    let emitter = EmitterId::Source(source.id.clone());
    batch.operations.extend(subscriptions::subscribe_new_emitter(caller, platform, &emitter).await?);
    let Phase::Deploying { until_ms } = source.phase else {
        return Ok(batch);
    };
    // Should this host die before the hooks have ended, the source is removed: at the next start of an embedded store,
    // or when the hooks of a host that shares its store can no longer be running.
    let payload = Job::AbandonDeploy { source: source.id.clone() }.encode()?;
    let (due_ms, held_until_ms) = (batch.now_ms, Some(until_ms));
    Ok(batch.then(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms })))
}

async fn run_hooks(caller: &Caller, platform: &Platform, source: &Source) -> Result<(), Error> {
    hooks::run(caller, platform, source, Hook::Deploy).await?;
    hooks::run(caller, platform, source, Hook::Activate).await
}

async fn settle(
    caller: &Caller,
    platform: &Platform,
    resolved: &mut Resolved,
    mut source: Source,
) -> Result<Source, Error> {
    source.phase = Phase::Settled;
    let mut batch = platform.batch(&caller.tenant).then(table::put(&source)?);
    batch.operations.extend(hooks::start_timers(platform, &source)?);
    platform.store.commit(batch).await?;
    if resolved.comes_with_source() {
        code::take_key_if_possible(platform, &caller.tenant, &mut resolved.component).await;
    }
    Ok(source)
}
