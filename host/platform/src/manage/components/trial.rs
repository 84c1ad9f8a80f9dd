//! A source component run once before it is deployed, to see what it does with an event.
//!
//! It runs as a deployed source would, within the same bounds and at the same price, but for what it would leave behind: it
//! begins with an empty `db`, its writes and events are answered instead of committed, and there is no record of the run.
//! Requests leave, with the credentials of the accounts that its props name; hooks do not run.

use std::sync::Arc;

use domain::component::Kind;
use domain::data_stores::Asked;
use domain::dedupe::DedupeState;
use domain::event::Metadata;
use domain::ids::EmitId;
use domain::outcome::RequestMade;
use domain::plan::{Context, Plan};
use domain::runs::{Trigger, TriggerKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Runnable, duration_ms, fault_view, runnable};
use crate::invoke::{self, Executed, Invocation, Owner, ReplySlot, Target, usage_operations};
use crate::manage::reply::ReplyView;
use crate::numbers::{EndedRun, SUCCESS};
use crate::ports::{Call, Fault, LogLine, Outcome, RunLimits, Write};
use crate::{Caller, Error, Platform};

/// Enough to see what a component does.
const SHOWN: usize = 100;

/// What a component did with an event, and nothing of it is kept.
#[derive(Debug, Serialize)]
pub struct TrialRun {
    pub ok: bool,
    /// The first hundred, as they would be emitted.
    pub emitted: Vec<TrialEvent>,
    pub emitted_count: usize,
    /// Why events were not accepted.
    pub rejected: Vec<String>,
    /// What it would have in `db` afterwards, as far as it changed it: the first hundred keys.
    pub stored: Vec<TrialWrite>,
    /// The first requests it made.
    pub requests: Vec<RequestMade>,
    /// What it gave to `respond` of its HTTP interface.
    pub reply: Option<ReplyView>,
    pub error: Option<Value>,
    pub logs: Vec<LogLine>,
    pub duration_ms: u64,
    pub compute_ms: u64,
    pub fuel_used: u64,
}

#[derive(Debug, Serialize)]
pub struct TrialEvent {
    pub event: Value,
    pub metadata: Metadata,
}

#[derive(Debug, Serialize)]
pub struct TrialWrite {
    pub key: String,
    /// Null when it was removed.
    pub value: Value,
}

pub async fn try_out(
    caller: &Caller,
    platform: &Platform,
    key_or_id: &str,
    configured_props: &Map<String, Value>,
    event: Value,
) -> Result<TrialRun, Error> {
    let wanted = (key_or_id, Kind::Source);
    let Runnable { component, origin, values } = runnable(caller, platform, wanted, configured_props).await?;
    let replied = Arc::<ReplySlot>::default();
    let owner = Owner::by_hand(caller);
    let invocation = Invocation {
        owner,
        target: Target::of_component(&component, origin, values),
        call: Call::Run { event: event.into() },
        limits: RunLimits::interactive(&platform.config.limits),
        trigger: Trigger::of(TriggerKind::Manual),
        queued_at_ms: platform.clock.now_ms(),
        reply: Some(replied.clone()),
        step: None,
    };
    let executed = invoke::execute(platform, &invocation, invocation.trial(platform)).await?;
    executed.transaction.release().await;
    let mut batch = platform.batch(&caller.tenant);
    batch.operations = usage_operations(platform, owner, &executed.outcome.usage, true);
    platform.store.commit(batch).await?;
    platform.numbers.ran(&EndedRun {
        trigger: invocation.trigger.kind,
        outcome: executed.outcome.fault.as_ref().map_or(SUCCESS, Fault::code),
        queued_at_ms: invocation.queued_at_ms,
        ended_at_ms: platform.clock.now_ms(),
        usage: executed.outcome.usage,
        events: 0,
    });
    let plan = plan(platform, &invocation, &executed);
    Ok(TrialRun::new(executed.outcome, plan, replied.take().map(ReplyView::from)))
}

/// What the run would have emitted as the first of a source.
fn plan(platform: &Platform, invocation: &Invocation<'_>, executed: &Executed) -> Plan {
    let emit_id = || EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes());
    let context = Context {
        emitter_id: invocation.target.id,
        dedupe: invocation.target.description.dedupe,
        limits: &platform.config.limits,
        run_id: executed.transaction.run_id().as_str(),
        original_event: None,
        now_ms: platform.clock.instant_ms(),
        emit_id: &emit_id,
    };
    // The fault is told on its own; here it would be one more error of the stream.
    let emits = Outcome { emits: executed.outcome.emits.clone(), ..Outcome::default() };
    Plan::new(&context, &emits, DedupeState::default())
}

// === impl TrialRun ===

impl TrialRun {
    fn new(outcome: Outcome, plan: Plan, reply: Option<ReplyView>) -> Self {
        let emitted_count = plan.events.len();
        let shown = plan.events.into_iter().take(SHOWN).map(|planned| planned.event);
        let rejected = plan.errors.iter().filter_map(|error| message(&error.event.to_value()));
        Self {
            ok: outcome.fault.is_none(),
            emitted: shown
                .map(|event| TrialEvent { event: event.event.to_value(), metadata: event.metadata })
                .collect(),
            emitted_count,
            rejected: rejected.collect(),
            stored: stored(outcome.writes),
            requests: outcome.traffic.requests,
            reply,
            error: outcome.fault.as_ref().map(fault_view),
            logs: outcome.logs,
            duration_ms: duration_ms(&outcome.usage),
            compute_ms: outcome.usage.compute_ms(),
            fuel_used: outcome.usage.fuel,
        }
    }
}

fn message(report: &Value) -> Option<String> {
    report.pointer("/error/message").and_then(Value::as_str).map(str::to_owned)
}

/// Of several writes to one key the last one counts. Values of data stores are not the component's own.
fn stored(writes: Vec<Write>) -> Vec<TrialWrite> {
    let mut values: Map<String, Value> = Map::new();
    for Write { key, value } in writes.into_iter().filter(|write| Asked::parse(&write.key).is_none()) {
        let value = value.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or_else(|_| json!(text)));
        values.insert(key, value);
    }
    values.into_iter().take(SHOWN).map(|(key, value)| TrialWrite { key, value }).collect()
}
