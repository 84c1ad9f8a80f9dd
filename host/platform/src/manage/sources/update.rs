//! Updating: `deactivate` with the old code and props, replace, `activate` with the new ones.
//!
//! A hook that fails leaves everything as it was: the old code and props are put back and activated again. When only
//! the `active` flag changes, only the one hook runs; a new name runs none.

use domain::component::{Hook, Kind};
use serde_json::{Map, Value};
use store::{CommitError, Op, Precondition, Tenant};

use super::create::{change_ms, unsaved_component};
use super::{change, endpoints, history, kept, naming};
use crate::manage::code::{self, Adoption, CodeRequest, Resolved};
use crate::manage::users::check_quota;
use crate::manage::{components, configure, hooks};
use crate::programs::Saving;
use crate::records::{Kept, Phase, Revision, Source, table};
use crate::{Caller, Error, Noun, Platform, sealed_props};

#[derive(Clone, Debug, Default)]
pub struct UpdateSource {
    /// Without any the code is kept.
    pub component: CodeRequest,
    pub name: Option<String>,
    /// When given, these replace the old ones.
    pub configured_props: Option<Map<String, Value>>,
    /// Spec: "optional, default true".
    pub active: Option<bool>,
    pub ignore_hook_errors: bool,
    /// The folder it is applied from; when absent it stays as it is.
    pub project: Option<String>,
}

// === impl UpdateSource ===

impl UpdateSource {
    /// Whether code is loaded or a source starts with it: what a used-up quota refuses. Stopping is always possible.
    fn has_work(&self, before: &Source) -> bool {
        let starts = self.active.unwrap_or(true) && (self.configured_props.is_some() || !before.is_active);
        starts || !self.component.is_empty()
    }
}

pub async fn update(caller: &Caller, platform: &Platform, id: &str, request: UpdateSource) -> Result<Source, Error> {
    let component_id = request.component.component_id.clone();
    let updated = change(caller, platform, id, request, Adoption::Stays).await;
    if updated.is_err() {
        code::collect_unadopted(caller, platform, component_id.as_deref()).await;
    }
    updated
}

/// `adoption` is what becomes of a component that came with a source, when it is named by its id.
pub(super) async fn change(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    request: UpdateSource,
    adoption: Adoption,
) -> Result<Source, Error> {
    let before = kept(caller, platform, id).await?;
    if request.has_work(&before.record) {
        check_quota(caller, platform).await?;
    }
    let mut replacement = replacement(caller, platform, &before.record, &request, adoption).await?;
    let after = plan(caller, platform, &before.record, &request, replacement.as_ref()).await?;
    let steps = Steps::new(&before.record, &after, replacement.is_some());
    let endpoints = endpoints::Change::new(&before.record, &after);
    endpoints.begin(caller, platform, &after.id).await?;
    let ignore_hook_errors = request.ignore_hook_errors;
    let attempt = Attempt { caller, platform, before: &before.record, ignore_hook_errors };
    let updated = match steps.has_hooks() {
        true => match change::claim(caller, platform, &before).await {
            Ok(()) => attempt.make(after, &steps, replacement.as_ref()).await,
            Err(busy) => Err(busy),
        },
        false => change_quietly(caller, platform, &before, after, replacement.as_ref()).await,
    };
    endpoints.end(platform, updated.is_ok()).await;
    let after = updated?;
    if let Some(Replacement { resolved, .. }) = &mut replacement
        && (resolved.comes_with_source() || adoption.returns(resolved))
    {
        code::take_key_if_possible(platform, &caller.tenant, &mut resolved.component).await;
    }
    Ok(after)
}

/// Queues code that a change has put out of use, in the batch that does so.
pub(super) fn collect_unused(due_ms: u64, unused: &Revision, used: &Revision) -> Result<Option<Op>, Error> {
    match unused.component_id == used.component_id {
        true => Ok(None),
        false => Ok(code::collect_revision_at(due_ms, unused)?),
    }
}

/// New code, new values, or both.
pub(super) struct Replacement {
    pub(super) resolved: Resolved,
    revision: Revision,
    adoption: Adoption,
}

/// Which hooks an update runs.
struct Steps {
    deactivates: bool,
    activates: bool,
}

pub(super) async fn replacement(
    caller: &Caller,
    platform: &Platform,
    source: &Source,
    request: &UpdateSource,
    adoption: Adoption,
) -> Result<Option<Replacement>, Error> {
    if request.component.is_empty() && request.configured_props.is_none() {
        return Ok(None);
    }
    let resolved = match request.component.is_empty() {
        true => {
            let id = source.revision.component_id.as_str();
            let (component, origin) = components::find(caller, platform, id).await?;
            Resolved { component, origin, unsaved: None }
        }
        false => code::resolve(caller, platform, request.component.clone()).await?,
    };
    code::require_kind(&resolved.component, Kind::Source)?;
    let kept = sealed_props::open_all(platform, &caller.tenant, source.id.as_str(), &source.revision)?;
    let values = configure::Values { given: request.configured_props.clone(), kept };
    let revision = configure::revision(caller, platform, &source.id, &resolved, values).await?;
    Ok(Some(Replacement { resolved, revision, adoption }))
}

/// The source as it will be.
pub(super) async fn plan(
    caller: &Caller,
    platform: &Platform,
    before: &Source,
    request: &UpdateSource,
    replacement: Option<&Replacement>,
) -> Result<Source, Error> {
    let mut after = before.clone();
    after.is_active = request.active.unwrap_or(true);
    after.updated_at = platform.clock.now_seconds();
    // Decided against the letter of the specification (the slug of the component is the name "when `name` is absent"):
    // a source that has a name keeps it, because scripts and people find it by that name after its code has changed.
    if let Some(name) = request.name.clone().filter(|name| *name != before.name) {
        naming::check(&name)?;
        after.slug = naming::free_slug(&caller.tenant, platform, &name, Some(&before.slug)).await?;
        after.name = name;
    }
    naming::check_project(request.project.as_deref())?;
    after.project = request.project.clone().or(after.project);
    if let Some(Replacement { revision, .. }) = replacement {
        if !is_same(caller, platform, before, revision)? {
            after.version = before.version.saturating_add(1);
            after.versioned_at = Some(after.updated_at);
        }
        after.revision = revision.clone();
        after.assign_endpoints(before, || endpoints::new_key(platform));
    }
    Ok(after)
}

/// Whether a source goes on with the same code and the same values. Sealed values are never equal, so they are opened.
fn is_same(caller: &Caller, platform: &Platform, before: &Source, new: &Revision) -> Result<bool, Error> {
    let old = &before.revision;
    let opened = |revision| sealed_props::open_all(platform, &caller.tenant, before.id.as_str(), revision);
    let is_same_code = old.program == new.program && old.description == new.description;
    Ok(is_same_code && opened(old)? == opened(new)?)
}

/// A change that no hook has to know about: a new name, or anything while the source is inactive.
async fn change_quietly(
    caller: &Caller,
    platform: &Platform,
    before: &Kept<Source>,
    mut after: Source,
    replacement: Option<&Replacement>,
) -> Result<Source, Error> {
    let busy = || Error::Busy { noun: Noun::Source, id: after.id.to_string() };
    if !before.record.phase.is_settled(platform.clock.now_ms()) {
        return Err(busy());
    }
    after.phase = Phase::Settled;
    let mut batch = platform.batch(&caller.tenant).require(table::unchanged(before));
    batch.preconditions.extend(still_there(caller, platform, &before.record, replacement).await?);
    let saving = saving(platform, &caller.tenant, &after, replacement).await?;
    batch.preconditions.extend(saving.preconditions);
    batch.operations = saving.operations;
    batch.operations.extend(history::retire(caller, platform, &before.record, &after).await?);
    match platform.commit(batch.then(table::put(&after)?)).await {
        Err(CommitError::Conflict { .. }) => Err(busy()),
        committed => committed.map(|_| after).map_err(Error::from),
    }
}

/// The component that an update names must be there when it is committed. The one before is: it is in use.
async fn still_there(
    caller: &Caller,
    platform: &Platform,
    before: &Source,
    replacement: Option<&Replacement>,
) -> Result<Option<Precondition>, Error> {
    match replacement {
        Some(new) if new.revision.component_id != before.revision.component_id => {
            code::still_there(caller, platform, &new.resolved, new.adoption).await
        }
        _ => Ok(None),
    }
}

async fn saving(
    platform: &Platform,
    tenant: &Tenant,
    after: &Source,
    replacement: Option<&Replacement>,
) -> Result<Saving, Error> {
    match replacement {
        Some(Replacement { resolved: resolved @ Resolved { component, unsaved: Some(program), .. }, .. }) => {
            let mut saving = code::saving(platform, tenant, component, program).await?;
            saving.operations.extend(code::log_warnings(platform, resolved, &after.id)?);
            Ok(saving)
        }
        _ => Ok(Saving::default()),
    }
}

/// A claimed source on its way from one state to the next.
struct Attempt<'a> {
    caller: &'a Caller,
    platform: &'a Platform,
    before: &'a Source,
    ignore_hook_errors: bool,
}

// === impl Attempt ===

impl Attempt<'_> {
    async fn make(&self, mut after: Source, steps: &Steps, replacement: Option<&Replacement>) -> Result<Source, Error> {
        let (caller, platform) = (self.caller, self.platform);
        if steps.deactivates
            && let Err(error) = self.hook(self.before, Hook::Deactivate).await
        {
            change::restore(caller, platform, self.before).await?;
            return Err(error);
        }
        let activated = match self.replace(&mut after, replacement).await {
            Ok(()) if steps.activates => hooks::run(caller, platform, &after, Hook::Activate).await,
            replaced => replaced,
        };
        if let Err(error) = activated {
            self.roll_back(steps, replacement).await?;
            return Err(error);
        }
        let retired = history::retire(caller, platform, self.before, &after).await?;
        change::settle(caller, platform, &mut after, retired).await?;
        Ok(after)
    }

    /// The new code answers while `activate` runs: services call back during the handshake.
    async fn replace(&self, after: &mut Source, replacement: Option<&Replacement>) -> Result<(), Error> {
        let until_ms = self.platform.clock.now_ms().saturating_add(change_ms(self.platform));
        let mut batch = self.platform.batch(&self.caller.tenant);
        batch.preconditions.extend(still_there(self.caller, self.platform, self.before, replacement).await?);
        let saving = saving(self.platform, &self.caller.tenant, after, replacement).await?;
        batch.preconditions.extend(saving.preconditions);
        batch.operations = saving.operations;
        // Should this host die before the change has ended, whichever of the two is not in use then goes.
        batch.operations.extend(collect_unused(until_ms, &self.before.revision, &after.revision)?);
        batch.operations.extend(collect_unused(until_ms, &after.revision, &self.before.revision)?);
        batch.operations.extend(change::mark(self.platform, after)?);
        self.platform.commit(batch).await?;
        Ok(())
    }

    /// Puts the old code and props back and activates them again. That this second `activate` may fail too is told in
    /// the source's log and `$errors`; the caller gets the first error.
    async fn roll_back(&self, steps: &Steps, replacement: Option<&Replacement>) -> Result<(), Error> {
        let (caller, platform) = (self.caller, self.platform);
        let mut batch = platform.batch(&caller.tenant);
        batch.operations.extend(change::mark(platform, &mut self.before.clone())?);
        if let Some(Replacement { resolved, revision, .. }) = replacement {
            code::give_back(caller, platform, resolved).await?;
            batch.operations.extend(unsaved_component(resolved));
            batch.operations.extend(collect_unused(batch.now_ms, revision, &self.before.revision)?);
        }
        platform.store.commit(batch).await?;
        if steps.deactivates && self.before.is_active {
            let reactivated = hooks::run(caller, platform, self.before, Hook::Activate).await;
            if let Err(error) = reactivated {
                tracing::warn!(source.id = %self.before.id, %error, "a source could not be activated again");
            }
        }
        change::restore(caller, platform, self.before).await
    }

    async fn hook(&self, source: &Source, hook: Hook) -> Result<(), Error> {
        match hooks::run(self.caller, self.platform, source, hook).await {
            Err(Error::Hook { .. }) if self.ignore_hook_errors => Ok(()),
            ran => ran,
        }
    }
}

// === impl Steps ===

impl Steps {
    fn new(before: &Source, after: &Source, is_replaced: bool) -> Self {
        Self {
            deactivates: before.is_active && (is_replaced || !after.is_active),
            activates: after.is_active && (is_replaced || !before.is_active),
        }
    }

    /// Inactive before and after: nothing is running that a hook would have to tell.
    fn has_hooks(&self) -> bool {
        self.deactivates || self.activates
    }
}
