//! Running a source's hooks, and switching its timers with them.

use domain::component::Hook;
use domain::runs::{Trigger, TriggerKind};
use domain::timers::Schedule;
use store::Op;

use super::configure::schedules;
use crate::invoke::{self, Invocation, Owner, Target};
use crate::ports::{Call, RunLimits};
use crate::records::{Source, Timer, names};
use crate::{Caller, Error, Platform};

/// Runs one hook, when the component has it. What it did is committed, also when it failed.
pub(super) async fn run(caller: &Caller, platform: &Platform, source: &Source, hook: Hook) -> Result<(), Error> {
    if !source.revision.description.has_hook(hook) {
        return Ok(());
    }
    let invocation = Invocation {
        owner: Owner::by_hand(caller),
        target: Target::of_source(source),
        call: Call::Hook { hook },
        limits: RunLimits::background(&platform.config.limits),
        trigger: Trigger { kind: TriggerKind::Hook, id: Some(hook.as_str().to_owned()) },
        queued_at_ms: platform.clock.now_ms(),
        reply: None,
        step: None,
    };
    match invoke::run(platform, &invocation).await?.outcome.fault {
        None => Ok(()),
        Some(fault) => Err(Error::Hook { hook, fault: Box::new(fault) }),
    }
}

/// Starts every timer of a source: the first tick comes one interval after activation.
pub(super) fn start_timers(platform: &Platform, source: &Source) -> Result<Vec<Op>, Error> {
    let mut operations = Vec::new();
    for (prop, schedule) in schedules(source) {
        operations.extend(start_timer(platform, source, prop, &schedule)?);
    }
    Ok(operations)
}

pub(super) fn stop_timers(source: &Source) -> Vec<Op> {
    let timers = schedules(source).into_iter();
    timers.map(|(prop, _)| Op::ClearTimer { timer: names::timer(&source.id, &prop) }).collect()
}

fn start_timer(platform: &Platform, source: &Source, prop: String, schedule: &Schedule) -> Result<Option<Op>, Error> {
    // A schedule that never comes again, such as the 30th of February, has no timer.
    let due_ms = schedule.next_after(platform.clock.instant_ms()).and_then(|due_ms| u64::try_from(due_ms).ok());
    let Some(due_ms) = due_ms else {
        return Ok(None);
    };
    let name = names::timer(&source.id, &prop);
    let timer = Timer { source: source.id.clone(), prop, schedule: schedule.to_configured() };
    Ok(Some(Op::SetTimer { timer: name, due_ms, schedule: timer.encode()? }))
}
