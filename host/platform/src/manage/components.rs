//! Saved components: code with a name, ready to be deployed or run.

mod action;
mod delete;
mod trial;

use domain::component::Kind;
use domain::ids::ComponentId;
use domain::paging::PageQuery;
use domain::problem::Problem;
use domain::props::configurable_props;
use domain::runs::{Trigger, TriggerKind};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use store::Lookup;

use super::code::{self, Resolved};
use super::configure;
use super::users::check_quota;
use crate::invoke::{self, Invocation, Owner, Ran, ReplySlot, Target};
use crate::paging::{PageOf, page};
use crate::ports::{Call, Dependency, Fault, Outcome, Reply, RunLimits, Usage};
use crate::records::{Component, Origin, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use super::code::CodeRequest;
pub use action::{ActionRun, Exit, Send, run_action};
pub use delete::delete;
pub use trial::{TrialEvent, TrialRun, TrialWrite, try_out};

/// What the API shows of a component.
#[derive(Debug, Serialize)]
pub struct ComponentView {
    pub id: ComponentId,
    pub code: String,
    pub code_hash: String,
    /// The SHA-256 of the linked program, in hex: what runs, packages included.
    pub digest: String,
    pub name: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(rename = "type")]
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component_url: Option<String>,
    pub configurable_props: Value,
    /// The npm packages it was linked with, as they were resolved then.
    pub dependencies: Vec<Dependency>,
    /// What it declares and cannot have, and what is therefore ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Problem>,
    /// What it logged as warnings and errors while it loaded, the platform's own among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A wish for the options of a prop.
#[derive(Clone, Debug)]
pub struct OptionsRequest {
    pub prop: String,
    pub configured_props: Map<String, Value>,
    pub page: u64,
    pub previous_context: Value,
    pub query: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct OptionsView {
    pub options: Value,
    /// What to send as `prevContext` for the next page.
    pub context: Value,
}

/// Saves new code under a new id; a key, when it has one, names the newest.
pub async fn create(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<Component, Error> {
    let (mut component, program) = code::compile(caller, platform, request).await?;
    code::save(platform, &caller.tenant, (&component, &program), &[]).await?;
    code::take_key(platform, &caller.tenant, &mut component).await?;
    Ok(component)
}

/// Saves new code only to deploy it: it is collected when no source uses it and when its deploy is refused, and takes its key
/// when it is deployed. Code that is never deployed is collected after a day, which is time enough to fill in its props.
pub async fn create_temporary(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<Component, Error> {
    const KEPT_MS: u64 = 24 * 3600 * 1000;
    let (mut component, program) = code::compile(caller, platform, request).await?;
    (component.came_with_source, component.is_temporary) = (true, true);
    let due_ms = platform.clock.now_ms().saturating_add(KEPT_MS);
    let collection = code::collect_at(due_ms, &component.id, &component.program)?;
    code::save(platform, &caller.tenant, (&component, &program), &[collection]).await?;
    Ok(component)
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Component>, Error> {
    page(&caller.tenant, platform, query).await
}

/// By id (the caller's own, or one of the registry) or by the caller's own key.
pub async fn find(caller: &Caller, platform: &Platform, key_or_id: &str) -> Result<(Component, Origin), Error> {
    let lookup = lookup(key_or_id);
    if let Some(kept) = table::find(&*platform.store, &caller.tenant, lookup).await? {
        return Ok((kept.record, Origin::Own));
    }
    let published = match lookup {
        Lookup::Id(_) => table::find(&*platform.store, &names::operator(), lookup).await?,
        Lookup::Alias(_) => None,
    };
    let kept = published.ok_or_else(|| Error::not_found(Noun::Component, key_or_id))?;
    Ok((kept.record, Origin::Registry))
}

fn lookup(key_or_id: &str) -> Lookup<'_> {
    if ComponentId::parse(key_or_id).is_ok() { Lookup::Id(key_or_id) } else { Lookup::Alias(key_or_id) }
}

/// The values to choose from for one prop: a fixed list, or what the component's method returns.
pub async fn options(
    caller: &Caller,
    platform: &Platform,
    key_or_id: &str,
    request: OptionsRequest,
) -> Result<OptionsView, Error> {
    let (component, origin) = find(caller, platform, key_or_id).await?;
    let OptionsRequest { prop, configured_props, page, previous_context, query } = request;
    let definition = component.description.props.iter().find(|definition| definition.name == prop);
    let definition = definition.ok_or_else(|| Error::expected("prop", "the name of a prop of the component"))?;
    if !definition.has_remote_options {
        let options = json!(definition.options.clone().unwrap_or_default());
        return Ok(OptionsView { options, context: Value::Null });
    }
    check_quota(caller, platform).await?;
    let values = configure::partial(caller, platform, &component.description, &configured_props).await?;
    let call = Call::Options { prop, page, previous_context, query };
    let resolved = Resolved { component, origin, unsaved: None };
    let outcome = run_once(caller, platform, &resolved, call, values).await?.outcome;
    if let Some(fault) = outcome.fault {
        return Err(Error::Run(Box::new(fault)));
    }
    Ok(options_of(parsed(outcome.returned.as_deref())))
}

/// A component that may be run by hand with these values.
struct Runnable {
    component: Component,
    origin: Origin,
    values: Map<String, Value>,
}

/// Whether a component of that kind may be run with these values, within the caller's quota.
async fn runnable(
    caller: &Caller,
    platform: &Platform,
    (key_or_id, kind): (&str, Kind),
    configured_props: &Map<String, Value>,
) -> Result<Runnable, Error> {
    let (component, origin) = find(caller, platform, key_or_id).await?;
    code::require_kind(&component, kind)?;
    check_quota(caller, platform).await?;
    let values = configure::whole(caller, platform, &component.description, configured_props).await?;
    Ok(Runnable { component, origin, values })
}

struct Once {
    run_id: String,
    outcome: Outcome,
    /// What the component gave to `respond`.
    reply: Option<Reply>,
}

/// A run without a source. Its usage is counted; its emits are dropped.
async fn run_once(
    caller: &Caller,
    platform: &Platform,
    resolved: &Resolved,
    call: Call,
    props: Map<String, Value>,
) -> Result<Once, Error> {
    let trigger = match &call {
        Call::Options { prop, .. } => Trigger { kind: TriggerKind::Options, id: Some(prop.clone()) },
        _ => Trigger::of(TriggerKind::Manual),
    };
    let replied = Arc::<ReplySlot>::default();
    let invocation = Invocation {
        owner: Owner::by_hand(caller),
        target: Target::of_component(&resolved.component, resolved.origin, props),
        call,
        limits: RunLimits::interactive(&platform.config.limits),
        trigger,
        queued_at_ms: platform.clock.now_ms(),
        reply: Some(replied.clone()),
        step: None,
    };
    let Ran { run_id, outcome, .. } = invoke::run(platform, &invocation).await?;
    Ok(Once { run_id: run_id.to_string(), outcome, reply: replied.take() })
}

/// What `error` of a run holds.
pub(super) fn fault_view(fault: &Fault) -> Value {
    let mut view = json!({"code": fault.code(), "message": fault.message()});
    if let (Some(thrown), Some(fields)) = (fault.thrown(), view.as_object_mut()) {
        fields.insert("name".to_owned(), json!(thrown.name));
        fields.insert("stack".to_owned(), json!(thrown.stack));
        if let Some(cause) = &thrown.cause {
            fields.insert("cause".to_owned(), json!(cause));
        }
    }
    view
}

pub(super) fn duration_ms(usage: &Usage) -> u64 {
    u64::try_from(usage.wall_clock.as_millis()).unwrap_or(u64::MAX)
}

fn parsed(returned: Option<&serde_json::value::RawValue>) -> Value {
    returned.and_then(|returned| serde_json::from_str(returned.get()).ok()).unwrap_or(Value::Null)
}

/// A method returns a list, or `{options, context}` when there may be more.
fn options_of(returned: Value) -> OptionsView {
    match returned {
        Value::Object(mut fields) => OptionsView {
            options: fields.shift_remove("options").unwrap_or_else(|| json!([])),
            context: fields.shift_remove("context").unwrap_or(Value::Null),
        },
        Value::Array(options) => OptionsView { options: Value::Array(options), context: Value::Null },
        _ => OptionsView { options: json!([]), context: Value::Null },
    }
}

// === impl ComponentView ===

impl From<Component> for ComponentView {
    fn from(component: Component) -> Self {
        let description = component.description;
        Self {
            id: component.id,
            code: component.source.source,
            code_hash: component.code_hash,
            digest: component.program,
            name: description.name,
            version: description.version,
            key: description.key,
            kind: description.kind,
            description: description.description,
            component_url: component.url,
            configurable_props: configurable_props(&description.props),
            dependencies: component.dependencies,
            notes: description.notes,
            warnings: component.warnings,
            created_at: component.created_at,
            updated_at: component.updated_at,
        }
    }
}
