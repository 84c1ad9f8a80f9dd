//! What starts a workflow, beside calls by hand: endpoints, timers, subscriptions, and sources that live and die with it.
//!
//! A trigger keeps its id and its address from version to version: by its id when that is given, otherwise by its place among
//! those of its kind, so that a document that is deployed again from a file keeps its endpoints.

use domain::ids::{EmitterId, EndpointKey, ListenerId, SourceId, SubscriptionId, WorkflowId};
use domain::problem::Problem;
use domain::subscriptions::{EmitterPattern, EventName, Subscription as Rule};
use domain::timers::Schedule;
use domain::workflow::{ComponentRef, Document, Trigger, TriggerKind};
use serde_json::{Map, Value, json};
use store::{DirectoryWrite, Lookup, Op};

use crate::manage::code::CodeRequest;
use crate::manage::components;
use crate::manage::sources::{self, CreateSource, endpoints};
use crate::records::{Subscription, Tick, TriggerRecord, TriggerRecordKind, Workflow, names, table};
use crate::{Caller, Error, Platform};

/// The triggers of a version, and what was made for them.
pub(super) struct Planned {
    pub(super) triggers: Vec<TriggerRecord>,
    /// Sources that were deployed for it: deleted again when the version is not.
    made: Vec<SourceId>,
}

/// Makes what the triggers of a document need and the workflow does not have yet.
pub(super) async fn plan(
    caller: &Caller,
    platform: &Platform,
    id: &WorkflowId,
    document: &Document,
    before: &[TriggerRecord],
) -> Result<Planned, Error> {
    let mut planned = Planned { triggers: Vec::new(), made: Vec::new() };
    let formers = formers(before, &document.triggers);
    for ((index, trigger), former) in document.triggers.iter().enumerate().zip(formers) {
        match make(caller, platform, id, (index, trigger), former, &mut planned.made).await {
            Ok(made) => planned.triggers.push(made),
            Err(error) => {
                planned.undo(caller, platform, before).await;
                return Err(error);
            }
        }
    }
    Ok(planned)
}

// === impl Planned ===

impl Planned {
    /// The version was not deployed.
    pub(super) async fn undo(&self, caller: &Caller, platform: &Platform, before: &[TriggerRecord]) {
        delete_sources(caller, platform, self.made.iter()).await;
        let new = self.triggers.iter().filter(|trigger| !before.contains(trigger));
        remove_endpoints(platform, new).await;
    }
}

/// That what triggers name is there, without making anything.
pub(super) async fn check(caller: &Caller, platform: &Platform, document: &Document) -> Result<(), Error> {
    for (index, trigger) in document.triggers.iter().enumerate() {
        if let TriggerKind::Source { source_id, .. } = &trigger.kind {
            sources::find(caller, platform, source_id).await.map_err(|error| at(index, error))?;
        }
    }
    Ok(())
}

/// What the triggers add to the batch that deploys them: subscriptions and timers. Those of `before` end in it, and what is as it
/// was goes on: an interval is not begun anew.
pub(super) async fn operations(
    caller: &Caller,
    platform: &Platform,
    before: Option<&Workflow>,
    after: &Workflow,
) -> Result<Vec<Op>, Error> {
    let former = before.map_or(&[][..], |before| &before.triggers);
    let running =
        before.filter(|before| before.is_active && after.is_active).map_or(&[][..], |before| &before.triggers);
    let mut operations = Vec::new();
    for gone in former.iter().filter(|trigger| !after.triggers.iter().any(|after| does_the_same(trigger, after))) {
        operations.extend(end(caller, platform, &after.id, gone).await?);
    }
    for (index, trigger) in after.triggers.iter().enumerate() {
        let is_as = |other: &TriggerRecord| does_the_same(other, trigger);
        match &trigger.kind {
            TriggerRecordKind::Http { .. } => {}
            TriggerRecordKind::Timer { schedule } => {
                if !running.iter().any(is_as) {
                    operations.push(timer(platform, after, &trigger.id, schedule)?);
                }
            }
            TriggerRecordKind::Source { source, event_name, .. } => {
                // One subscription is enough for several triggers.
                if !after.triggers.iter().take(index).any(is_as) {
                    operations.extend(subscribe(caller, platform, &after.id, source, event_name).await?);
                }
            }
        }
    }
    Ok(operations)
}

/// Whether two triggers have the same timer or subscription.
fn does_the_same(one: &TriggerRecord, other: &TriggerRecord) -> bool {
    use TriggerRecordKind::{Source, Timer};
    match (&one.kind, &other.kind) {
        (Timer { schedule }, Timer { schedule: another }) => one.id == other.id && is_same(schedule, another),
        (Source { source, event_name, .. }, Source { source: another, event_name: name, .. }) => {
            source == another && event_name == name
        }
        _ => one == other,
    }
}

fn is_same(schedule: &Value, another: &Value) -> bool {
    matches!((Schedule::parse(schedule, 0), Schedule::parse(another, 0)), (Ok(one), Ok(other)) if one == other)
}

/// What ends with the triggers of a workflow that goes away.
pub(super) async fn end_all(caller: &Caller, platform: &Platform, workflow: &Workflow) -> Result<Vec<Op>, Error> {
    let mut operations = Vec::new();
    for trigger in &workflow.triggers {
        operations.extend(end(caller, platform, &workflow.id, trigger).await?);
    }
    Ok(operations)
}

/// Deletes what only triggers that are gone needed. Best effort: what is left over no longer reaches the workflow.
pub(super) async fn forget(caller: &Caller, platform: &Platform, before: &[TriggerRecord], after: &[TriggerRecord]) {
    let gone: Vec<&TriggerRecord> = before.iter().filter(|trigger| !after.contains(trigger)).collect();
    delete_sources(caller, platform, gone.iter().filter_map(|trigger| own_source(trigger))).await;
    let kept = |trigger: &TriggerRecord| after.iter().any(|after| after.id == trigger.id);
    remove_endpoints(platform, gone.into_iter().filter(|trigger| !kept(trigger))).await;
}

/// The source that was deployed for a trigger.
pub(super) fn own_source(trigger: &TriggerRecord) -> Option<&SourceId> {
    match &trigger.kind {
        TriggerRecordKind::Source { source, component: Some(_), .. } => Some(source),
        _ => None,
    }
}

async fn delete_sources(caller: &Caller, platform: &Platform, sources: impl Iterator<Item = &SourceId>) {
    for source in sources {
        // It may have been deleted by hand.
        if let Err(error) = sources::delete(caller, platform, source.as_str(), true).await
            && !matches!(error, Error::NotFound { .. })
        {
            tracing::warn!(source.id = %source, %error, "the source of a trigger was not deleted");
        }
    }
}

async fn remove_endpoints(platform: &Platform, triggers: impl Iterator<Item = &TriggerRecord>) {
    for trigger in triggers {
        if let TriggerRecordKind::Http { key, .. } = &trigger.kind
            && let Err(error) = endpoints::remove(platform, [key]).await
        {
            tracing::warn!(%error, "an endpoint that is out of use was not removed");
        }
    }
}

/// What each trigger was before: the one with its id, or the same one, or else the next of its kind.
fn formers<'a>(before: &'a [TriggerRecord], triggers: &[Trigger]) -> Vec<Option<&'a TriggerRecord>> {
    let mut left: Vec<&TriggerRecord> = before.iter().collect();
    let mut formers = vec![None; triggers.len()];
    for is_former in [is_known, is_alike] {
        for (trigger, former) in triggers.iter().zip(&mut formers).filter(|(_, former)| former.is_none()) {
            let at = left.iter().position(|record| is_former(record, trigger));
            *former = at.map(|at| left.remove(at));
        }
    }
    formers
}

fn is_known(record: &TriggerRecord, trigger: &Trigger) -> bool {
    if let Some(id) = &trigger.id {
        return *id == record.id && is_of_kind(record, trigger);
    }
    match (&record.kind, &trigger.kind) {
        (TriggerRecordKind::Timer { schedule }, TriggerKind::Timer { schedule: given }) => is_same(schedule, given),
        (TriggerRecordKind::Source { component: Some(before), .. }, TriggerKind::Component { component, props }) => {
            *before == described(component, props)
        }
        _ => false,
    }
}

fn is_alike(record: &TriggerRecord, trigger: &Trigger) -> bool {
    trigger.id.is_none() && is_of_kind(record, trigger)
}

fn is_of_kind(record: &TriggerRecord, trigger: &Trigger) -> bool {
    matches!(
        (&record.kind, &trigger.kind),
        (TriggerRecordKind::Http { .. }, TriggerKind::Http { .. })
            | (TriggerRecordKind::Timer { .. }, TriggerKind::Timer { .. })
            | (TriggerRecordKind::Source { component: None, .. }, TriggerKind::Source { .. })
            | (TriggerRecordKind::Source { component: Some(_), .. }, TriggerKind::Component { .. })
    )
}

async fn make(
    caller: &Caller,
    platform: &Platform,
    workflow: &WorkflowId,
    (index, trigger): (usize, &Trigger),
    former: Option<&TriggerRecord>,
    made: &mut Vec<SourceId>,
) -> Result<TriggerRecord, Error> {
    let id = |prefix: &str| former.map_or_else(|| new_id(platform, prefix), |former| former.id.clone());
    match &trigger.kind {
        TriggerKind::Http { has_custom_response } => {
            let key = match former.map(|former| &former.kind) {
                Some(TriggerRecordKind::Http { key, .. }) => key.clone(),
                _ => register(caller, platform, workflow).await?,
            };
            let kind = TriggerRecordKind::Http { key, has_custom_response: *has_custom_response };
            Ok(TriggerRecord { id: id("hi_"), kind })
        }
        TriggerKind::Timer { schedule } => {
            Ok(TriggerRecord { id: id("ti_"), kind: TriggerRecordKind::Timer { schedule: schedule.clone() } })
        }
        TriggerKind::Source { source_id, event_name } => {
            let source = sources::find(caller, platform, source_id).await.map_err(|error| at(index, error))?;
            let event_name = event_name.clone();
            EventName::parse(&event_name).map_err(|error| at(index, Error::parameter("event_name", error)))?;
            let kind = TriggerRecordKind::Source { source: source.id.clone(), event_name, component: None };
            Ok(TriggerRecord { id: source.id.to_string(), kind })
        }
        TriggerKind::Component { component, props } => {
            let shown = described(component, props);
            if let Some(former) = former
                && let TriggerRecordKind::Source { source, component: Some(before), .. } = &former.kind
                && *before == shown
                && is_there(caller, platform, source).await?
            {
                return Ok(former.clone());
            }
            let source = deploy(caller, platform, component, props.clone()).await.map_err(|error| at(index, error))?;
            made.push(source.clone());
            let kind =
                TriggerRecordKind::Source { source: source.clone(), event_name: String::new(), component: Some(shown) };
            Ok(TriggerRecord { id: source.to_string(), kind })
        }
    }
}

/// Not once it was deleted by hand.
async fn is_there(caller: &Caller, platform: &Platform, source: &SourceId) -> Result<bool, Error> {
    match sources::find(caller, platform, source.as_str()).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn described(component: &ComponentRef, props: &Map<String, Value>) -> Value {
    match component {
        ComponentRef::Id(id) => json!({"component_id": id, "props": props}),
        ComponentRef::Key(key) => json!({"component_key": key, "props": props}),
    }
}

async fn deploy(
    caller: &Caller,
    platform: &Platform,
    component: &ComponentRef,
    configured_props: Map<String, Value>,
) -> Result<SourceId, Error> {
    let component = match component {
        ComponentRef::Id(id) => CodeRequest { component_id: Some(id.clone()), ..CodeRequest::default() },
        ComponentRef::Key(key) => match components::find(caller, platform, key).await {
            Ok((own, _)) => CodeRequest { component_id: Some(own.id.to_string()), ..CodeRequest::default() },
            Err(Error::NotFound { .. }) => CodeRequest { key: Some(key.clone()), ..CodeRequest::default() },
            Err(error) => return Err(error),
        },
    };
    Ok(sources::create(caller, platform, CreateSource { component, name: None, configured_props, project: None })
        .await?
        .id)
}

fn at(index: usize, error: Error) -> Error {
    let path = format!("triggers[{index}]");
    match error {
        Error::NotFound { .. } | Error::Parameter { .. } | Error::WrongKind { .. } => {
            Error::Workflow(vec![Problem::new(path, error.to_string())])
        }
        Error::Props(problems) => {
            let placed = |problem: Problem| {
                let prop = problem.path.trim_start_matches("configured_props.");
                Problem::new(format!("{path}.props.{prop}"), problem.message)
            };
            Error::Workflow(problems.into_iter().map(placed).collect())
        }
        error => error,
    }
}

fn new_id(platform: &Platform, prefix: &str) -> String {
    let random = WorkflowId::from_random(platform.entropy.bytes());
    format!("{prefix}{}", random.as_str().trim_start_matches(WorkflowId::PREFIX))
}

/// Written before the batch that gives the key to the workflow, as with sources.
async fn register(caller: &Caller, platform: &Platform, workflow: &WorkflowId) -> Result<EndpointKey, Error> {
    let key = EndpointKey::from_random(platform.entropy.bytes());
    let value = json!({"tenant": caller.tenant.as_str(), "workflow": workflow}).to_string().into();
    platform.store.write_directory(DirectoryWrite::Put { key: names::endpoint(&key), value }).await?;
    Ok(key)
}

fn timer(platform: &Platform, workflow: &Workflow, id: &str, schedule: &Value) -> Result<Op, Error> {
    let timer = names::workflow_timer(&workflow.id, id);
    let next = Schedule::parse(schedule, 0).ok().and_then(|schedule| schedule.next_after(platform.clock.instant_ms()));
    match next.and_then(|due_ms| u64::try_from(due_ms).ok()).filter(|_| workflow.is_active) {
        None => Ok(Op::ClearTimer { timer }),
        Some(due_ms) => {
            let tick = Tick::Workflow { workflow: workflow.id.clone(), trigger: id.to_owned() };
            Ok(Op::SetTimer { timer, due_ms, schedule: tick.encode()? })
        }
    }
}

async fn subscribe(
    caller: &Caller,
    platform: &Platform,
    workflow: &WorkflowId,
    source: &SourceId,
    event_name: &str,
) -> Result<Option<Op>, Error> {
    let rule = rule(platform, workflow, source, event_name)?;
    let identity = Subscription::identity(&rule.emitter_id, &rule.listener_id, &rule.event_name);
    let found = table::find::<Subscription>(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await?;
    if found.is_some() {
        return Ok(None);
    }
    Ok(Some(table::put(&Subscription(rule))?))
}

async fn end(
    caller: &Caller,
    platform: &Platform,
    workflow: &WorkflowId,
    trigger: &TriggerRecord,
) -> Result<Vec<Op>, Error> {
    match &trigger.kind {
        TriggerRecordKind::Http { .. } => Ok(Vec::new()),
        TriggerRecordKind::Timer { .. } => {
            Ok(vec![Op::ClearTimer { timer: names::workflow_timer(workflow, &trigger.id) }])
        }
        TriggerRecordKind::Source { source, event_name, .. } => {
            let rule = rule(platform, workflow, source, event_name)?;
            let identity = Subscription::identity(&rule.emitter_id, &rule.listener_id, &rule.event_name);
            let found = table::find::<Subscription>(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await?;
            Ok(found.map(|kept| table::delete(&kept.record)).into_iter().collect())
        }
    }
}

fn rule(platform: &Platform, workflow: &WorkflowId, source: &SourceId, event_name: &str) -> Result<Rule, Error> {
    Ok(Rule {
        id: SubscriptionId::from_random(platform.entropy.bytes()),
        emitter_id: EmitterPattern::Exact(EmitterId::Source(source.clone())),
        listener_id: ListenerId::Workflow(workflow.clone()),
        event_name: EventName::parse(event_name).map_err(|error| Error::parameter("event_name", error))?,
    })
}
