//! Saved components: code with a name, ready to be deployed or run.

mod delete;

use domain::actions::Effect;
use domain::component::Kind;
use domain::ids::ComponentId;
use domain::limits::Limits;
use domain::paging::PageQuery;
use domain::props::{self, configurable_props};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use store::Lookup;

use super::code::{self, Resolved};
use super::configure;
use super::paging::{PageOf, page};
use super::users::check_quota;
use crate::flow::{Instance, Invocation, Owner, Terms, Transaction, new_run_id, usage_operations};
use crate::ports::{Call, Dependency, Fault, LogLine, Outcome, Program, RunLimits, Task, Usage};
use crate::records::{Component, Origin, names, shelf};
use crate::{Caller, Error, Noun, Platform, effects};

pub use super::code::CodeRequest;
pub use delete::delete;

/// What the API shows of a component.
#[derive(Debug, Serialize)]
pub struct ComponentView {
    pub id: ComponentId,
    pub code: String,
    pub code_hash: String,
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

/// How an action went.
#[derive(Debug, Serialize)]
pub struct ActionRun {
    pub run_id: String,
    pub ok: bool,
    pub return_value: Value,
    pub exports: Map<String, Value>,
    pub error: Option<Value>,
    pub logs: Vec<LogLine>,
    pub duration_ms: u64,
    pub compute_ms: u64,
    pub fuel_used: u64,
}

/// Saves new code under a new id; a key, when it has one, names the newest.
pub async fn create(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<Component, Error> {
    let (mut component, program) = code::compile(platform, request).await?;
    let mut batch = platform.batch(&caller.tenant);
    batch.operations = code::save_operations(&component, &program)?;
    platform.store.commit(batch).await?;
    code::take_key(platform, &caller.tenant, &mut component).await?;
    Ok(component)
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Component>, Error> {
    page(&caller.tenant, platform, query).await
}

/// By id (the caller's own, or one of the registry) or by the caller's own key.
pub async fn find(caller: &Caller, platform: &Platform, key_or_id: &str) -> Result<(Component, Origin), Error> {
    let lookup = lookup(key_or_id);
    if let Some(kept) = shelf::find(&*platform.store, &caller.tenant, lookup).await? {
        return Ok((kept.record, Origin::Own));
    }
    let published = match lookup {
        Lookup::Id(_) => shelf::find(&*platform.store, &names::operator(), lookup).await?,
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
    let call = Call::Options { prop, page, previous_context, query };
    let resolved = Resolved { component, origin, unsaved: None };
    let outcome = run_once(caller, platform, &resolved, call, configured_props).await?.outcome;
    if let Some(fault) = outcome.fault {
        return Err(Error::Run(Box::new(fault)));
    }
    Ok(options_of(parsed(outcome.returned.as_deref())))
}

/// Runs an action once, as a workflow would.
pub async fn run_action(
    caller: &Caller,
    platform: &Platform,
    key_or_id: &str,
    configured_props: &Map<String, Value>,
    steps: Value,
) -> Result<ActionRun, Error> {
    let (component, origin) = find(caller, platform, key_or_id).await?;
    if component.description.kind != Kind::Action {
        return Err(Error::WrongKind { is: "a source", needs: "an action" });
    }
    check_quota(caller, platform).await?;
    let definitions = &component.description.props;
    let configured = props::validate(definitions, configured_props, &platform.config.limits).map_err(Error::Props)?;
    configure::check_accounts(caller, platform, &component.description, &configured.accounts).await?;
    let resolved = Resolved { component, origin, unsaved: None };
    let once = run_once(caller, platform, &resolved, Call::Action { steps }, configured.values).await?;
    Ok(ActionRun::new(once, &platform.config.limits))
}

struct Once {
    run_id: String,
    outcome: Outcome,
}

/// A run that belongs to no source. What it costs is counted; what it emits goes nowhere.
async fn run_once(
    caller: &Caller,
    platform: &Platform,
    resolved: &Resolved,
    call: Call,
    props: Map<String, Value>,
) -> Result<Once, Error> {
    let component = &resolved.component;
    let program: Arc<Program> =
        platform.programs.find(&*platform.store, &caller.tenant, resolved.origin, &component.program).await?;
    let instance = Instance::new(platform, &caller.tenant, &component.description, props, None).await?;
    let counts_as_invocation = matches!(call, Call::Action { .. });
    let limits = RunLimits::interactive(&platform.config.limits);
    let terms = Terms {
        run_id: new_run_id(platform),
        tenant: caller.tenant.clone(),
        scope: names::db_of_component(&component.id),
        isolation: component.description.isolation(),
        is_atomic: component.description.is_atomic,
        wall_clock: limits.wall_clock,
    };
    let call = call.to_json(component.id.as_str(), instance.props.expose());
    let invocation = Invocation {
        program,
        task: Task { lane: caller.tenant.to_string(), call, limits },
        credentials: Arc::new(instance.credentials),
        reply: None,
        transaction: Transaction::new(platform, terms),
    };
    let owner = Owner { tenant: &caller.tenant, plan: &caller.user.plan };
    let usage = |outcome: &Outcome| usage_operations(platform, owner, &outcome.usage, counts_as_invocation);
    let outcome = invocation.execute_and_commit(platform, usage).await?;
    Ok(Once { run_id: invocation.transaction.run_id().to_owned(), outcome })
}

/// What `error` of a run holds.
pub(super) fn fault_view(fault: &Fault) -> Value {
    let mut view = json!({"code": fault.code(), "message": fault.to_string()});
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

// === impl ActionRun ===

impl ActionRun {
    fn new(Once { run_id, outcome }: Once, limits: &Limits) -> Self {
        let asked = effects::parse(&outcome.effects, limits);
        let refused = asked.as_ref().err().map(|problems| effects::refusal(problems));
        let error = outcome.fault.as_ref().map(fault_view).or(refused);
        let exported = |effect| match effect {
            Effect::Export { name, value } => Some((name, value)),
            _ => None,
        };
        let exports = asked.unwrap_or_default().into_iter().filter_map(exported).collect();
        Self {
            run_id,
            ok: error.is_none(),
            return_value: parsed(outcome.returned.as_deref()),
            exports,
            error,
            duration_ms: duration_ms(&outcome.usage),
            compute_ms: outcome.usage.compute_ms(),
            fuel_used: outcome.usage.fuel,
            logs: outcome.logs,
        }
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
            name: description.name,
            version: description.version,
            key: description.key,
            kind: description.kind,
            description: description.description,
            component_url: component.url,
            configurable_props: configurable_props(&description.props),
            dependencies: component.dependencies,
            created_at: component.created_at,
            updated_at: component.updated_at,
        }
    }
}
