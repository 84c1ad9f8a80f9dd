//! Resolves a reference to a component (an id, a key, code, a URL) to a component that loads.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::component::{Description, Kind};
use domain::ids::{ComponentId, SourceId};
use domain::problem::Problem;
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::{Lookup, Op, Tenant};

use super::users::check_quota;
use super::{components, registry};
use crate::invoke::{Owner, usage_operations};
use crate::paging::count;
use crate::ports::{ComponentSource, Level, Load, Loaded, LogLine, Program, Usage};
use crate::programs::{self, Saving};
use crate::records::{Component, Kept, LogEntry, Origin, RecordError, StreamEntry, names, table};
use crate::{Caller, Error, Noun, ParameterError, Platform, with_data_stores};

mod collect;
mod fetch;

pub(super) use collect::{
    Adoption, collect, collect_at, collect_later, collect_revision, collect_revision_at, collect_unadopted, give_back,
    still_there,
};

/// How a component is named or given. Of several the first in this order counts; the url is then metadata.
#[derive(Clone, Debug, Default)]
pub struct CodeRequest {
    pub component_id: Option<String>,
    /// Of the registry.
    pub key: Option<String>,
    pub component_code: Option<String>,
    pub component_url: Option<String>,
    pub component_files: BTreeMap<String, String>,
    pub filename: Option<String>,
}

/// A component to deploy: one that is saved, or one that is saved together with what is deployed from it.
pub(super) struct Resolved {
    pub(super) component: Component,
    pub(super) origin: Origin,
    /// The program of a component that is not saved yet.
    pub(super) unsaved: Option<Arc<Program>>,
}

// === impl Resolved ===

impl Resolved {
    /// Whether it takes its key once it is deployed, instead of having it already.
    pub(super) fn comes_with_source(&self) -> bool {
        self.unsaved.is_some() || (self.origin == Origin::Own && self.component.is_temporary)
    }
}

// === impl CodeRequest ===

impl CodeRequest {
    pub fn is_empty(&self) -> bool {
        self.component_id.is_none()
            && self.key.is_none()
            && self.component_code.is_none()
            && self.component_url.is_none()
    }
}

/// Finds or makes the component. Nothing is written.
pub(super) async fn resolve(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<Resolved, Error> {
    if let Some(id) = &request.component_id {
        let id = ComponentId::parse(id).map_err(|error| Error::parameter("component_id", error))?;
        let (component, origin) = components::find(caller, platform, id.as_str()).await?;
        return Ok(Resolved { component, origin, unsaved: None });
    }
    if let Some(key) = &request.key {
        let component = registry::find(platform, key).await?;
        return Ok(Resolved { component, origin: Origin::Registry, unsaved: None });
    }
    let (mut component, program) = compile(caller, platform, request).await?;
    component.came_with_source = true;
    Ok(Resolved { component, origin: Origin::Own, unsaved: Some(program) })
}

/// A source is deployed; an action is run by hand, or is a step.
pub(super) fn require_kind(component: &Component, needed: Kind) -> Result<(), Error> {
    let named = |kind| match kind {
        Kind::Source => "a source",
        Kind::Action => "an action",
    };
    let is = component.description.kind;
    if is == needed { Ok(()) } else { Err(Error::WrongKind { is: named(is), needs: named(needed) }) }
}

/// Links and loads new code, in the caller's turn and at its cost. Nothing else is written.
pub(super) async fn compile(
    caller: &Caller,
    platform: &Platform,
    request: CodeRequest,
) -> Result<(Component, Arc<Program>), Error> {
    let _place = platform.pools().deploys().enter(caller.tenant.as_str()).await?;
    // Only now: what waited before it may have used up the quota.
    check_quota(caller, platform).await?;
    check_count(caller, platform).await?;
    let url = request.component_url.clone();
    let source = read_source(caller, platform, request).await?;
    check_size(platform, &source)?;
    let linked = platform.linker.link(caller.tenant.as_str(), source.clone()).await.map_err(Error::Link)?;
    let (description, program, logs) = load(caller, platform, linked.program).await?;
    check_names(&description)?;
    let now = platform.clock.now_seconds();
    let component = Component {
        id: ComponentId::from_random(platform.entropy.bytes()),
        code_hash: hex::encode(Sha256::digest(&source.source)),
        source,
        url,
        description,
        program: program.digest(),
        dependencies: linked.dependencies,
        warnings: warnings(linked.warnings, logs),
        came_with_source: false,
        is_temporary: false,
        holds_key: false,
        created_at: now,
        updated_at: now,
    };
    Ok((component, program))
}

/// Loads a program to see that it does and what it is. One with data stores is loaded once more, with the code around it
/// that gives it those.
async fn load(
    caller: &Caller,
    platform: &Platform,
    program: Program,
) -> Result<(Description, Arc<Program>, Vec<LogLine>), Error> {
    let program = Arc::new(program);
    let loaded = load_once(caller, platform, &program).await?;
    let exports: Value = serde_json::from_str(&loaded.description)
        .map_err(|source| RecordError::Malformed { kind: "component description", source })?;
    let description = Description::parse(&exports).map_err(Error::Component)?;
    let Some(wrapped) = with_data_stores(&program, &description, &platform.config.limits).map(Arc::new) else {
        return Ok((description, program, loaded.logs));
    };
    load_once(caller, platform, &wrapped).await?;
    Ok((description, wrapped, loaded.logs))
}

/// At the caller's cost.
pub(super) async fn load_once(caller: &Caller, platform: &Platform, program: &Arc<Program>) -> Result<Loaded, Error> {
    let Load { result, usage } = platform.sandbox.load(caller.tenant.as_str(), program).await?;
    charge(caller, platform, &usage).await?;
    result.map_err(Error::Load)
}

/// The component's code ran: that costs what a run costs, also when it did not load.
async fn charge(caller: &Caller, platform: &Platform, usage: &Usage) -> Result<(), Error> {
    let owner = Owner::by_hand(caller);
    let mut batch = platform.batch(&caller.tenant);
    batch.operations = usage_operations(platform, owner, usage, false);
    platform.store.commit(batch).await?;
    Ok(())
}

/// What the linker has to say, and the lines of warnings and errors that a component left when it loaded.
fn warnings(linked: Vec<String>, logs: Vec<LogLine>) -> Vec<String> {
    /// More than is ever read; both are bounds on what is stored with the component.
    const LINES: usize = 20;
    const CHARACTERS: usize = 1000;
    let is_warning = |line: &LogLine| matches!(line.level, Level::Warn | Level::Error);
    let logged = logs.into_iter().filter(is_warning).map(|line| line.message);
    linked.into_iter().chain(logged).take(LINES).map(|text| text.chars().take(CHARACTERS).collect()).collect()
}

/// What a batch contains that saves a component, without its key. It is made anew after a conflict.
pub(super) async fn saving(
    platform: &Platform,
    tenant: &Tenant,
    component: &Component,
    program: &Program,
) -> Result<Saving, Error> {
    let mut saving = programs::save(platform, tenant, program).await?;
    saving.operations.push(table::put(component)?);
    Ok(saving)
}

/// Saves a component, without its key, in a batch of its own with `further` operations.
pub(super) async fn save(
    platform: &Platform,
    tenant: &Tenant,
    (component, program): (&Component, &Program),
    further: &[Op],
) -> Result<(), Error> {
    const TRIES: usize = 16;
    for _ in 0..TRIES {
        let Saving { preconditions, operations } = saving(platform, tenant, component, program).await?;
        let mut batch = platform.batch(tenant);
        batch.preconditions = preconditions;
        batch.operations = operations;
        batch.operations.extend_from_slice(further);
        match platform.commit(batch).await {
            // A package text that it refers to was about to be deleted.
            Err(store::CommitError::Conflict { .. }) => {}
            settled => return settled.map(drop).map_err(Error::from),
        }
    }
    Err(Error::Changed)
}

/// The same after a deploy, which does not depend on it: that the key could not be taken is only logged.
pub(super) async fn take_key_if_possible(platform: &Platform, tenant: &Tenant, component: &mut Component) {
    if let Err(error) = take_key(platform, tenant, component).await {
        tracing::warn!(component.id = %component.id, %error, "a component did not get its key");
    }
}

/// Puts the warnings of a component that was loaded for a source into the source's log: nothing else shows them then.
pub(super) fn log_warnings(platform: &Platform, resolved: &Resolved, source: &SourceId) -> Result<Vec<Op>, Error> {
    let keep = u32::try_from(platform.config.limits.logs_kept).unwrap_or(u32::MAX);
    let (at_ms, level) = (platform.clock.now_ms(), Level::Warn);
    let warnings = resolved.component.warnings.iter().filter(|_| resolved.unsaved.is_some());
    let append = |message: &String| {
        let entry = LogEntry::new("", LogLine { at_ms, level, message: message.clone() });
        let (emitter, stream) = (source.to_string(), names::LOGS.to_owned());
        Ok(Op::Append { emitter, stream, value: entry.encode()?, keep })
    };
    warnings.map(append).collect()
}

/// Gives a component its key, and takes it from the one that held it. In a batch of its own, tried again on a conflict with
/// another request that saves under the same key: the last one wins.
pub(super) async fn take_key(platform: &Platform, tenant: &Tenant, component: &mut Component) -> Result<(), Error> {
    const TRIES: usize = 16;
    let Some(key) = component.description.key.clone() else {
        return Ok(());
    };
    component.holds_key = true;
    for _ in 0..TRIES {
        let holder: Option<Kept<Component>> = table::find(&*platform.store, tenant, Lookup::Alias(&key)).await?;
        let mut batch = platform.batch(tenant);
        if let Some(mut holder) = holder.filter(|holder| holder.record.id != component.id) {
            batch = batch.require(table::unchanged(&holder));
            holder.record.holds_key = false;
            batch = batch.then(table::put(&holder.record)?);
            if holder.record.came_with_source {
                batch = batch.then(collect_later(platform, &holder.record.id, &holder.record.program)?);
            }
        }
        match platform.store.commit(batch.then(table::put(component)?)).await {
            Err(store::CommitError::Conflict { .. }) => {}
            settled => return settled.map(drop).map_err(Error::from),
        }
    }
    Err(Error::Changed)
}

async fn read_source(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<ComponentSource, Error> {
    let CodeRequest { component_code, component_url, component_files: files, filename, .. } = request;
    match (component_code, component_url) {
        (Some(source), _) => {
            let filename = filename.unwrap_or_else(|| "component.js".to_owned());
            Ok(ComponentSource { filename, source, files })
        }
        (None, Some(url)) => fetch::component(&caller.tenant, platform, &url, filename).await,
        (None, None) => Err(Error::MissingOneOf { names: &["component_code", "component_url"] }),
    }
}

/// Names become keys of the store, which are bounded.
fn check_names(description: &Description) -> Result<(), Error> {
    const NAME_BYTES: usize = 256;
    let own = [("name", description.name.as_str()), ("key", description.key.as_deref().unwrap_or_default())];
    let props = description.props.iter().map(|prop| ("props", prop.name.as_str()));
    let too_long = own.into_iter().chain(props).filter(|(_, name)| name.len() > NAME_BYTES);
    let problems: Vec<Problem> =
        too_long.map(|(path, _)| Problem::new(path, format!("a name has at most {NAME_BYTES} bytes"))).collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::Component(problems)) }
}

/// What came with sources counts as well: each is a component of its own.
async fn check_count(caller: &Caller, platform: &Platform) -> Result<(), Error> {
    let limit = usize::try_from(platform.config.shares.components).unwrap_or(usize::MAX);
    if count::<Component>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::Component, limit });
    }
    Ok(())
}

fn check_size(platform: &Platform, source: &ComponentSource) -> Result<(), Error> {
    let files: usize = source.files.iter().map(|(path, text)| path.len() + text.len()).sum();
    let (size_bytes, limit_bytes) = (source.source.len() + files, platform.config.code_bytes);
    if size_bytes > limit_bytes {
        return Err(Error::parameter("component_code", ParameterError::TooLong { limit_bytes, size_bytes }));
    }
    Ok(())
}
