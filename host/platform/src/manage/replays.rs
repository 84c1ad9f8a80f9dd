//! Recorded runs, run again: as they were, on other code, and for real.
//!
//! A replay has no effect: it gets the answers that were recorded, and what it does is compared, not committed. Its fuel is
//! charged like that of any run.

use std::sync::Arc;

use domain::ids::RunId;
use domain::redact::{Hidden, Redaction};
use domain::replay::{Deeds, Difference, Verdict, compare, shown_differences};
use domain::runs::{Trigger, TriggerKind};
use serde::Serialize;
use serde_json::{Value, json};
use store::Lookup;

use super::code::{self, CodeRequest};
use super::recordings::{self, RecordedRun};
use super::sources::{self, SourceRun};
use super::users::check_quota;
use crate::invoke::workflow::Given;
use crate::invoke::{Offline, Owner, ReplySlot, deeds_of, usage_operations};
use crate::ports::{Priority, ProgramHandle, Replay, ReplayMode, RunLimits, Task};
use crate::records::{Source, table};
use crate::{Caller, Error, Noun, Platform};

/// Recordings that one shadow run goes through.
pub const SHADOW_MAXIMUM: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct ReplayRequest {
    /// Other code to run on the recorded answers; the code of the run when empty.
    pub code: CodeRequest,
    /// Ask the real services for what was not recorded.
    pub is_live: bool,
    /// Tell what the run asked its host, too.
    pub wants_calls: bool,
}

/// How a replay went.
#[derive(Debug, Serialize)]
pub struct ReplayView {
    pub run_id: String,
    pub verdict: Verdict,
    pub differences: Vec<Difference>,
    /// What the replay did.
    pub replayed: Deeds,
    /// What the recorded run asked its host, in order, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Value>,
}

/// How recorded runs go on new code.
#[derive(Debug, Serialize)]
pub struct ShadowView {
    pub runs: usize,
    pub unchanged: usize,
    pub changed: usize,
    /// They asked for something that was not recorded.
    pub diverged: usize,
    /// Runs that fail now and did not before.
    pub new_errors: usize,
    /// Of all runs together, new against recorded.
    pub fuel_change_percent: f64,
    /// Those that are not unchanged.
    pub details: Vec<ReplayView>,
}

pub async fn replay(
    caller: &Caller,
    platform: &Platform,
    run_id: &str,
    request: ReplayRequest,
) -> Result<ReplayView, Error> {
    let run = find(caller, platform, run_id).await?;
    check_quota(caller, platform).await?;
    let (program, mode) = match request.code.is_empty() {
        true => (On::Recorded, ReplayMode::Exact),
        false => {
            let (_, program) = code::compile(caller, platform, request.code).await?;
            (On::Other(ProgramHandle::of(program)), ReplayMode::ByQuestion)
        }
    };
    let mode = if request.is_live { ReplayMode::Live } else { mode };
    let mut view = run_again(caller, platform, &run, &program, mode).await?;
    if request.wants_calls {
        view.calls = Some(calls(caller, platform, &run).await?);
    }
    Ok(view)
}

/// What a recorded run asked its host, as far as it may be shown.
async fn calls(caller: &Caller, platform: &Platform, run: &RecordedRun) -> Result<Value, Error> {
    let content = run.content(platform, &caller.tenant)?;
    let mut calls = json!(platform.sandbox.calls(&content.answers()));
    let redaction = settings_of(caller, platform, &run.recording.emitter_id).await?.redaction;
    let mut hidden = Hidden::default();
    redaction.apply(&mut content.input(), &mut hidden);
    hidden.mask(&mut calls);
    Ok(calls)
}

/// Runs the last recorded runs of a source on new code, before anything changes.
pub async fn shadow(
    caller: &Caller,
    platform: &Platform,
    source_id: &str,
    code: CodeRequest,
    runs: usize,
) -> Result<ShadowView, Error> {
    let source = sources::find(caller, platform, source_id).await?;
    let runs = runs.min(SHADOW_MAXIMUM);
    let oldest_ms = settings_of(caller, platform, source.id.as_str()).await?.oldest_ms;
    let mut runs = recordings::of_emitter(platform, &caller.tenant, source.id.as_str(), runs).await?;
    runs.retain(|run| is_kept(run, oldest_ms));
    let (_, program) = code::compile(caller, platform, code).await?;
    let program = On::Other(ProgramHandle::of(program));
    let mut view = ShadowView {
        runs: runs.len(),
        unchanged: 0,
        changed: 0,
        diverged: 0,
        new_errors: 0,
        fuel_change_percent: 0.0,
        details: Vec::new(),
    };
    let (mut before, mut after) = (0_u64, 0_u64);
    for run in runs {
        check_quota(caller, platform).await?;
        let recorded = run.content(platform, &caller.tenant)?.deeds;
        let replayed = run_again(caller, platform, &run, &program, ReplayMode::ByQuestion).await?;
        (before, after) = (before.saturating_add(recorded.fuel), after.saturating_add(replayed.replayed.fuel));
        view.count(&recorded, replayed);
    }
    if before > 0 {
        let change = (after as f64 / before as f64 - 1.0) * 100.0;
        view.fuel_change_percent = (change * 10.0).round() / 10.0;
    }
    Ok(view)
}

/// Runs a source once more on the same event, for real: a new run with all effects.
pub async fn retry(caller: &Caller, platform: &Platform, run_id: &str) -> Result<SourceRun, Error> {
    let run = find(caller, platform, run_id).await?;
    if !run.recording.emitter_id.starts_with(domain::ids::SourceId::PREFIX) {
        return Err(Error::expected("id", "a run of a source; actions are run again with `run`"));
    }
    let input = run.content(platform, &caller.tenant)?.input();
    let trigger = Trigger { kind: TriggerKind::Retry, id: Some(run_id.to_owned()) };
    sources::run_triggered(caller, platform, &run.recording.emitter_id, input, trigger).await
}

/// How runs of an emitter are kept and shown, as of its source; of what is no source, nothing is said.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) redaction: Redaction,
    /// What was committed before is gone.
    pub(super) oldest_ms: Option<u64>,
}

pub(super) async fn settings_of(caller: &Caller, platform: &Platform, emitter: &str) -> Result<Settings, Error> {
    let source = match emitter.starts_with(domain::ids::SourceId::PREFIX) {
        true => table::find::<Source>(&*platform.store, &caller.tenant, Lookup::Id(emitter)).await?,
        false => None,
    };
    Ok(settings(platform, source.map(|kept| kept.record)))
}

pub(super) fn settings(platform: &Platform, source: Option<Source>) -> Settings {
    let (retention, redaction) = source.map(|source| (source.retention, source.redaction)).unwrap_or_default();
    let seconds = platform.config.limits.runs_kept_seconds;
    Settings { redaction, oldest_ms: retention.oldest_ms(seconds, platform.clock.now_ms()) }
}

/// What a recorded run was given, as far as it may be shown, and what is hidden of it; none when it was not recorded.
pub(super) async fn input(
    caller: &Caller,
    platform: &Platform,
    run_id: &str,
    redaction: &Redaction,
) -> Result<Option<(Value, Hidden)>, Error> {
    let Some(run) = recordings::find(platform, &caller.tenant, run_id).await? else {
        return Ok(None);
    };
    let (mut input, mut hidden) = (run.content(platform, &caller.tenant)?.input(), Hidden::default());
    redaction.apply(&mut input, &mut hidden);
    hidden.mask(&mut input);
    Ok(Some((input, hidden)))
}

async fn find(caller: &Caller, platform: &Platform, run_id: &str) -> Result<RecordedRun, Error> {
    match recordings::find(platform, &caller.tenant, run_id).await? {
        Some(run) => {
            let oldest_ms = settings_of(caller, platform, &run.recording.emitter_id).await?.oldest_ms;
            match is_kept(&run, oldest_ms) {
                true => Ok(run),
                false => Err(Error::not_found(Noun::Run, run_id)),
            }
        }
        // Tells apart what never was and what was not recorded.
        None => match super::runs::find(caller, platform, run_id).await {
            Ok(view) => Err(Error::NoRecording { run: run_id.to_owned(), recording: view.record.recording }),
            Err(error) => Err(error),
        },
    }
}

/// By when its run began.
fn is_kept(run: &RecordedRun, oldest_ms: Option<u64>) -> bool {
    let began_ms = RunId::parse(run.id()).ok().and_then(|id| u64::try_from(id.started_at_ms()).ok());
    oldest_ms.is_none_or(|oldest_ms| began_ms.is_some_and(|began_ms| began_ms >= oldest_ms))
}

/// The code that a recorded run is run again on.
enum On {
    Recorded,
    Other(ProgramHandle),
}

async fn run_again(
    caller: &Caller,
    platform: &Platform,
    run: &RecordedRun,
    on: &On,
    mode: ReplayMode,
) -> Result<ReplayView, Error> {
    let mut content = run.content(platform, &caller.tenant)?;
    let own = platform.program(&caller.tenant, run.recording.origin, &run.recording.program);
    // Other code is that of a component, without what is put around a step: it cannot ask.
    let (program, given) = match on {
        On::Recorded => (&own, Given::of_recorded(&content.call)),
        On::Other(program) => (program, None),
    };
    let call = given.as_ref().map_or_else(|| content.call.clone(), |given| given.to_call(&content.call));
    let limits = RunLimits {
        fuel: content.fuel_limit,
        memory_bytes: content.memory_bytes,
        ..RunLimits::background(&platform.config.limits)
    };
    let replay = Some(Replay { recording: content.answers(), mode });
    let task = Task { tenant: caller.tenant.to_string(), call, limits, replay };
    let reply = Arc::<ReplySlot>::default();
    let services = Arc::new(Offline::new(platform, &caller.tenant, &run.recording.emitter_id, (reply.clone(), given)));
    let outcome = platform.sandbox.run(program, &task, Priority::Normal, services).await?;
    let owner = Owner::by_hand(caller);
    let mut batch = platform.batch(&caller.tenant);
    batch.operations = usage_operations(platform, owner, &outcome.usage, false);
    platform.store.commit(batch).await?;
    let mut replayed = deeds_of(&outcome, reply.take().as_ref())?;
    let (verdict, mut differences) = compare(&content.deeds, &replayed);
    let redaction = settings_of(caller, platform, &run.recording.emitter_id).await?.redaction;
    if !redaction.is_empty() {
        let mut hidden = Hidden::default();
        redaction.apply(&mut content.input(), &mut hidden);
        content.deeds.redact(&redaction, &mut hidden);
        replayed.redact(&redaction, &mut hidden);
        content.deeds.mask(&hidden);
        replayed.mask(&hidden);
        differences = shown_differences(verdict, &content.deeds, &replayed);
    }
    Ok(ReplayView { run_id: run.id().to_owned(), verdict, differences, replayed, calls: None })
}

// === impl ShadowView ===

impl ShadowView {
    fn count(&mut self, recorded: &Deeds, replayed: ReplayView) {
        if recorded.error.is_none() && replayed.replayed.error.is_some() {
            self.new_errors += 1;
        }
        match replayed.verdict {
            Verdict::Identical | Verdict::OnlyFuel => {
                self.unchanged += 1;
                return;
            }
            Verdict::Different => self.changed += 1,
            Verdict::Diverged => self.diverged += 1,
        }
        self.details.push(replayed);
    }
}
