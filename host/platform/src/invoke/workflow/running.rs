//! Drives a run: starts the steps that are ready, takes in what came of them, and commits when it has to.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::EndpointKey;
use domain::runs::RunError;
use domain::workflow::{Body, Choice, Ended, Pause, PauseKind, Position, Retention, Spot, StepOutcome};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value, json};
use store::{JobLease, Lookup, TimerLease};

use super::barrier::Barrier;
use super::commit::Point;
use super::failure::{Failure, context};
use super::pending::Pending;
use super::step::{StepJob, StepRan};
use super::version::Version;
use crate::invoke::{Executed, Keeping, Owner, ReplySlot, write_operations};
use crate::ports::{Fault, LogLine, Outcome};
use crate::records::names;
use crate::records::workflow_run::{RunState, StepResult};
use crate::records::{Workflow, WorkflowRun, table};
use crate::{Error, Platform, effects, sealed_props};

/// Steps of one run at once.
const AT_ONCE: usize = 16;
/// Step results that are kept of one run.
const RESULTS_MAXIMUM: usize = 1000;
/// Steps of one run, iterations counted: a list of lists ends here.
const STEPS_RUN_MAXIMUM: usize = 10_000;
/// A run that lost against another one begins again; by then others had their turn.
const TRIES: usize = 8;
/// What is shown of one step.
const SHOWN_BYTES: usize = 32 << 10;
const SHOWN_LINES: usize = 100;
/// What all steps of a run may export: it is part of what is committed.
const EXPORTED_BYTES: usize = 16 << 20;

/// What this process has a run by.
pub(crate) enum Hold {
    Job(JobLease),
    Tick(TimerLease),
    /// It began here, and its client waits.
    Own,
}

/// A run in this process.
pub(crate) struct Running<'a> {
    pub(crate) platform: &'a Platform,
    pub(crate) owner: Owner<'a>,
    pub(crate) workflow: &'a Workflow,
    pub(crate) version: &'a Version,
    pub(crate) run: WorkflowRun,
    /// The version of its record; none when it has none.
    pub(crate) stored: Option<u64>,
    pub(crate) hold: Hold,
    /// Where `$.respond` is waited for.
    pub(crate) reply: Option<Arc<ReplySlot>>,
    /// When the run is to be durable, also when nothing else asks for it.
    pub(crate) accept_at_ms: Option<u64>,
    /// Called after each commit.
    pub(crate) committed: Box<dyn Fn() + Send + Sync + 'a>,
    pub(super) pending: Pending,
    pub(super) failure: Option<Failure>,
    pub(super) recording: Keeping,
    pub(super) exported_bytes: usize,
    pub(super) steps_run: usize,
    pub(super) deadline_ms: u64,
    barrier: Barrier,
    requests: Option<super::barrier::Requests>,
}

// === impl Running ===

impl<'a> Running<'a> {
    pub(crate) fn new(
        (platform, owner): (&'a Platform, Owner<'a>),
        (workflow, version): (&'a Workflow, &'a Version),
        run: WorkflowRun,
        (stored, hold): (Option<u64>, Hold),
    ) -> Self {
        let (barrier, requests) = Barrier::new();
        let timeout_ms = version.document.settings.timeout_seconds.saturating_mul(1000);
        Self {
            platform,
            owner,
            workflow,
            version,
            run,
            stored,
            hold,
            reply: None,
            accept_at_ms: None,
            committed: Box::new(|| ()),
            pending: Pending::default(),
            failure: None,
            recording: Keeping::default(),
            exported_bytes: 0,
            steps_run: 0,
            deadline_ms: platform.clock.now_ms().saturating_add(timeout_ms),
            barrier,
            requests: Some(requests),
        }
    }

    /// Until it has ended or is paused, and that is committed. An error means that the run goes on from where it was
    /// committed last.
    pub(crate) async fn drive(&mut self) -> Result<RunState, Error> {
        let driven = self.run_steps().await;
        let settled = match driven {
            Ok(()) if self.run.position.ended(&self.version.document).is_none() => self.commit(Point::Paused).await,
            Ok(()) => self.commit(Point::Ended).await,
            Err(error) => Err(error),
        };
        if settled.is_err() {
            self.pending.release().await;
        }
        settled?;
        Ok(self.run.state)
    }

    /// The same for a run that began here: when what it read has changed, it goes on from where it was committed last.
    pub(crate) async fn drive_own(&mut self) -> Result<RunState, Error> {
        for _ in 0..TRIES {
            match self.drive().await {
                Err(Error::Changed) if self.begin_again().await? => {}
                Err(Error::Changed) => return Ok(RunState::Cancelled),
                ended => return ended,
            }
        }
        Err(Error::Contended)
    }

    /// `false` when the run is gone: it was cancelled.
    async fn begin_again(&mut self) -> Result<bool, Error> {
        if self.stored.is_some() {
            let id = self.run.id.to_string();
            let found = table::find::<WorkflowRun>(&*self.platform.store, self.owner.tenant, Lookup::Id(&id)).await?;
            let Some(kept) = found else { return Ok(false) };
            (self.run, self.stored) = (kept.record, Some(kept.version));
        } else {
            self.run.position = Position::begin(&self.version.document);
            self.run.steps.clear();
        }
        let (barrier, requests) = Barrier::new();
        (self.barrier, self.requests) = (barrier, Some(requests));
        (self.pending, self.failure, self.recording) = (Pending::default(), None, Keeping::default());
        Ok(true)
    }

    async fn run_steps(&mut self) -> Result<(), Error> {
        let Some(mut requests) = self.requests.take() else { return Ok(()) };
        self.run.state = RunState::Executing;
        let (mut at_work, mut running) = (HashSet::new(), FuturesUnordered::new());
        loop {
            let ready = self.run.position.ready(&self.version.document);
            for spot in ready {
                if at_work.len() < AT_ONCE && !at_work.contains(&spot) {
                    let Some(job) = self.prepare(spot.clone()).await? else { continue };
                    at_work.insert(spot);
                    running.push(job.run());
                }
            }
            if running.is_empty() {
                return Ok(());
            }
            let accept_at_ms = self.accept_at_ms;
            // All are cancel-safe: steps are held in the set, and a request to commit is taken only when it is there.
            tokio::select! {
                biased;
                Some(answer) = requests.recv() => {
                    let committed = self.commit(Point::Checkpoint).await;
                    // A step that no longer waits was ended.
                    let _ = answer.send(committed.is_ok());
                    committed?;
                }
                Some(ran) = running.next() => {
                    let ran = ran?;
                    at_work.remove(&ran.spot);
                    self.take(ran);
                    let is_over = self.run.position.ended(&self.version.document).is_some();
                    if is_over {
                        return Ok(());
                    }
                    // Whatever could be seen from outside is not done again for the sake of a later step.
                    if self.pending.has_left && !self.run.position.ready(&self.version.document).is_empty() {
                        self.commit(Point::Checkpoint).await?;
                    }
                }
                () = at(self.platform, accept_at_ms) => {
                    self.accept_at_ms = None;
                    self.commit(Point::Checkpoint).await?;
                }
            }
        }
    }

    /// The invocation of the step at a spot; none when it cannot run, which ends the run.
    async fn prepare(&mut self, spot: Spot) -> Result<Option<StepJob<'a>>, Error> {
        let (platform, version) = (self.platform, self.version);
        let Some(namespace) = self.run.position.step(&version.document, &spot).map(|step| step.namespace.clone())
        else {
            return Ok(None);
        };
        let Some(step) = version.step(&namespace) else {
            self.fail(Failure::new(&namespace, "not_deployed", "the code of the step is missing"));
            return Ok(None);
        };
        let time_left_ms = self.deadline_ms.saturating_sub(platform.clock.now_ms());
        if time_left_ms == 0 {
            let limit = Duration::from_secs(version.document.settings.timeout_seconds);
            self.fail(Failure::of(&namespace, &Fault::Deadline { limit }));
            return Ok(None);
        }
        if self.steps_run >= STEPS_RUN_MAXIMUM {
            let message = format!("a run has at most {STEPS_RUN_MAXIMUM} steps, iterations counted");
            self.fail(Failure::new(&namespace, "too_many_steps", message));
            return Ok(None);
        }
        self.steps_run += 1;
        // A step finds what the same step stored an iteration ago.
        if self.pending.writes_in(&names::db_of_step(&self.workflow.id, &namespace)) {
            self.commit(Point::Checkpoint).await?;
        }
        let id = version.record.workflow.as_str();
        let mut props = step.props.clone();
        let sealed = version.record.secrets.as_ref();
        let mut secrets = sealed_props::open(platform, self.owner.tenant, id, sealed)?;
        if let Some(Value::Object(secret)) = secrets.remove(&namespace) {
            props.extend(secret);
        }
        self.barrier.set(!self.pending.is_empty());
        let key = EndpointKey::from_random(platform.entropy.bytes()).as_str().to_owned();
        Ok(Some(StepJob {
            platform,
            owner: self.owner,
            workflow: self.workflow,
            step,
            props,
            steps: self.visible(&spot, &key),
            spot,
            run_id: self.run.id.clone(),
            trigger: self.run.trigger.clone(),
            key,
            time_left: Duration::from_millis(time_left_ms),
            reply: self.reply.clone(),
            barrier: self.barrier.clone(),
        }))
    }

    /// `steps` of the step at a spot. `$run` is for the code around the step, which takes it away.
    fn visible(&self, spot: &Spot, key: &str) -> Value {
        let (position, document) = (&self.run.position, &self.version.document);
        let mut steps = position.visible(document, spot);
        let mut context = context(self.owner.tenant, self.workflow, &self.run);
        steps.insert(domain::workflow::TRIGGER.to_owned(), json!({"event": self.run.event, "context": context}));
        if let Some(fields) = context.as_object_mut() {
            fields.insert("attempt".to_owned(), json!(position.tries(document, spot) + 1));
            fields.insert("run".to_owned(), position.rerun(document, spot));
        }
        let url = |verb: &str| {
            let (base, tenant) = (&self.platform.config.public_url, self.owner.tenant);
            format!("{base}/v1/{verb}/{tenant}/{}/{key}", self.run.id)
        };
        let run = json!({"context": context, "resume_url": url("resume"), "cancel_url": url("cancel")});
        steps.insert("$run".to_owned(), run);
        Value::Object(steps)
    }

    fn take(&mut self, ran: StepRan) {
        let StepRan { spot, key, started_at_ms, executed, recording } = ran;
        let Executed { transaction, outcome, .. } = executed;
        let scope = transaction.scope().to_owned();
        self.pending.has_left |= transaction.has_effects() || outcome.has_replied;
        self.pending.transactions.push(transaction);
        self.pending.add_usage(outcome.usage);
        self.run.used.add(outcome.usage);
        self.barrier.set(true);
        let (position, document) = (&self.run.position, &self.version.document);
        let Some(step) = position.step(document, &spot) else { return };
        let namespace = step.namespace.clone();
        let attempt = position.tries(document, &spot) + 1;
        let mut result = StepResult {
            namespace: namespace.clone(),
            iteration: position.iteration(document, &spot),
            state: RunState::Success,
            exports: Value::Null,
            is_truncated: false,
            logs: shown_logs(&outcome.logs),
            attempt,
            started_at_ms,
            ended_at_ms: self.platform.clock.now_ms(),
            fuel: outcome.usage.fuel,
            error: None,
        };
        self.pending.logs.extend(outcome.logs.iter().cloned());
        let outcome = match &outcome.fault {
            Some(fault) => self.failed(&namespace, fault, attempt),
            None => self.succeeded(&spot, &key, &scope, outcome).unwrap_or_else(|failure| {
                self.recording = Keeping::default();
                self.failure = Some(failure);
                StepOutcome::Failed
            }),
        };
        if let StepOutcome::Failed | StepOutcome::Paused { pause: Pause { kind: PauseKind::Retry, .. }, .. } = &outcome
        {
            result.state = RunState::Error;
            result.error = self.failure.as_ref().map(|failure| (*failure.error).clone());
            self.recording = recording;
        } else if matches!(outcome, StepOutcome::Paused { .. }) {
            result.state = RunState::Paused;
        }
        self.show_exports(&mut result, &outcome);
        if !matches!(outcome, StepOutcome::Failed) {
            self.failure = None;
        }
        self.run.position.apply(&self.version.document, &spot, outcome);
        self.keep_result(result);
    }

    /// A step that failed is tried again, when the workflow says so; not when its limits ended it.
    fn failed(&mut self, namespace: &str, fault: &Fault, attempt: u32) -> StepOutcome {
        self.failure = Some(Failure::of(namespace, fault));
        let is_limit = matches!(fault, Fault::Deadline { .. } | Fault::OutOfMemory { .. } | Fault::OutOfFuel { .. });
        match self.version.document.settings.retry_delay_ms(attempt).filter(|_| !is_limit) {
            None => StepOutcome::Failed,
            Some(delay_ms) => {
                let until_ms = self.platform.clock.now_ms().saturating_add(delay_ms);
                let pause = Pause { kind: PauseKind::Retry, until_ms, key: String::new() };
                StepOutcome::Paused { exports: Map::new(), pause }
            }
        }
    }

    fn succeeded(&mut self, spot: &Spot, key: &str, scope: &str, outcome: Outcome) -> Result<StepOutcome, Failure> {
        let (platform, document) = (self.platform, &self.version.document);
        let limits = &platform.config.limits;
        let Some(step) = self.run.position.step(document, spot) else { return Ok(StepOutcome::Failed) };
        let namespace = step.namespace.as_str();
        let returned_bytes = outcome.returned.as_ref().map_or(0, |returned| returned.get().len());
        let exported: usize = outcome.effects.iter().map(|effect| effect.parameters.get().len()).sum();
        self.exported_bytes += returned_bytes + exported;
        if self.exported_bytes > EXPORTED_BYTES {
            let message = format!("the steps of a run return and export at most {EXPORTED_BYTES} bytes");
            return Err(Failure::new(namespace, "too_much_output", message));
        }
        let returned = outcome.returned.as_deref().and_then(|returned| serde_json::from_str(returned.get()).ok());
        let returned: Value = returned.unwrap_or_default();
        if !matches!(step.body, Body::Action(_) | Body::Code(_)) {
            let choice = Choice::parse(step, returned);
            return choice.map(StepOutcome::Chosen).map_err(|error| Failure::new(namespace, "not_a_choice", error));
        }
        let effects = effects::parse(&outcome.effects, limits).map_err(|problems| {
            let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            Failure::new(namespace, "invalid_parameters", message)
        })?;
        let asked = self.pending.apply(namespace, effects)?;
        let written = write_operations(scope, outcome.writes, limits.db_source_bytes);
        self.pending.writes.extend(written.into_iter().map(|write| (scope.to_owned(), write)));
        let mut exports = Map::from_iter([("$return_value".to_owned(), returned)]);
        exports.extend(asked.exports);
        let Some(pause) = asked.pause.filter(|_| asked.exit.is_none()) else {
            return Ok(StepOutcome::Done { exports, exit: asked.exit });
        };
        let runs = self.run.position.rerun(document, spot).get("runs").and_then(Value::as_u64).unwrap_or(1);
        if matches!(pause.kind, PauseKind::Rerun { .. }) && runs > u64::from(pause.retries_maximum) {
            return Ok(StepOutcome::Done { exports, exit: None });
        }
        let until_ms = platform.clock.now_ms().saturating_add(pause.ms);
        Ok(StepOutcome::Paused { exports, pause: Pause { kind: pause.kind, until_ms, key: key.to_owned() } })
    }

    fn show_exports(&self, result: &mut StepResult, outcome: &StepOutcome) {
        let shown = match outcome {
            StepOutcome::Done { exports, .. } | StepOutcome::Paused { exports, .. } => Value::Object(exports.clone()),
            StepOutcome::Chosen(Choice::Branch(branch)) => json!({"branch": branch}),
            StepOutcome::Chosen(Choice::Branches(branches)) => json!({"branches": branches}),
            StepOutcome::Chosen(Choice::Items(items)) => json!({"items": items.len()}),
            StepOutcome::Chosen(Choice::Holds(holds)) => json!({"$return_value": holds}),
            StepOutcome::Failed => Value::Null,
        };
        if self.version.document.settings.retention == Retention::None {
            return;
        }
        result.is_truncated = serde_json::to_vec(&shown).is_ok_and(|text| text.len() > SHOWN_BYTES);
        if !result.is_truncated {
            result.exports = shown;
        }
    }

    fn keep_result(&mut self, mut result: StepResult) {
        if self.version.document.settings.retention == Retention::None {
            result.logs.clear();
        }
        if self.run.steps.len() < RESULTS_MAXIMUM {
            self.run.steps.push(result);
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.run.position.fail();
    }

    pub(crate) fn error(&self) -> Option<&RunError> {
        self.failure.as_ref().map(|failure| &*failure.error)
    }

    /// How the run ended, once it has.
    pub(super) fn end_state(&self) -> (RunState, Option<String>) {
        match self.run.position.ended(&self.version.document) {
            Some(Some(Ended::Failed)) => (RunState::Error, None),
            Some(Some(Ended::Exited { reason })) => (RunState::Success, reason.clone()),
            _ => (RunState::Success, None),
        }
    }

    pub(super) fn open_barrier(&self) {
        self.barrier.set(false);
    }
}

async fn at(platform: &Platform, at_ms: Option<u64>) {
    match at_ms {
        Some(at_ms) => platform.clock.sleep_until(at_ms).await,
        None => std::future::pending().await,
    }
}

/// The last lines, as far as they are short.
fn shown_logs(logs: &[LogLine]) -> Vec<LogLine> {
    let mut left = SHOWN_BYTES;
    let mut shown: Vec<LogLine> = Vec::new();
    for line in logs.iter().rev().take(SHOWN_LINES) {
        let Some(rest) = left.checked_sub(line.message.len()) else { break };
        left = rest;
        shown.push(line.clone());
    }
    shown.reverse();
    shown
}
