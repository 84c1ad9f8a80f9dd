//! Running a source by hand.

use std::sync::Arc;

use domain::runs::{Trigger, TriggerKind};
use serde::Serialize;
use serde_json::Value;

use super::find;
use crate::invoke::{self, Invocation, Owner, ReplySlot, Target};
use crate::manage::components::{duration_ms, fault_view};
use crate::manage::events::EventSummary;
use crate::manage::reply::ReplyView;
use crate::manage::users::check_quota;
use crate::ports::{Call, RunLimits};
use crate::records::LogEntry;
use crate::{Caller, Error, Platform};

/// Enough to see what a run does; the rest is in the event summaries.
const EMITTED_SHOWN: usize = 100;

/// How a run went; `emitted` shows the first hundred events.
#[derive(Debug, Serialize)]
pub struct SourceRun {
    pub run_id: String,
    pub ok: bool,
    pub emitted: Vec<EventSummary>,
    pub emitted_count: usize,
    /// What it gave to `respond` of its HTTP interface.
    pub reply: Option<ReplyView>,
    pub error: Option<Value>,
    pub logs: Vec<LogEntry>,
    pub duration_ms: u64,
    pub compute_ms: u64,
    pub fuel_used: u64,
}

/// Answers when the run is committed. An inactive source can be run too: that is how one tries it out.
pub async fn run(caller: &Caller, platform: &Platform, id: &str, event: Value) -> Result<SourceRun, Error> {
    run_triggered(caller, platform, id, event, Trigger::of(TriggerKind::Manual)).await
}

pub(crate) async fn run_triggered(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    event: Value,
    trigger: Trigger,
) -> Result<SourceRun, Error> {
    let source = find(caller, platform, id).await?;
    check_quota(caller, platform).await?;
    let replied = Arc::<ReplySlot>::default();
    let invocation = Invocation {
        owner: Owner::by_hand(caller),
        target: Target::of_source(&source),
        call: Call::Run { event: event.into() },
        limits: RunLimits::interactive(&platform.config.limits),
        trigger,
        queued_at_ms: platform.clock.now_ms(),
        reply: Some(replied.clone()),
        step: None,
    };
    let ran = invoke::run(platform, &invocation).await?;
    let outcome = ran.outcome;
    let emitted_count = ran.emitted.len();
    let shown = ran.emitted.into_iter().take(EMITTED_SHOWN);
    Ok(SourceRun {
        run_id: ran.run_id.to_string(),
        ok: outcome.fault.is_none(),
        emitted: shown.map(|emitted| EventSummary::whole(emitted.id, emitted.event)).collect(),
        emitted_count,
        reply: replied.take().map(ReplyView::from),
        error: outcome.fault.as_ref().map(fault_view),
        logs: ran.logs,
        duration_ms: duration_ms(&outcome.usage),
        compute_ms: outcome.usage.compute_ms(),
        fuel_used: outcome.usage.fuel,
    })
}
