//! Drives a run: starts the steps that are ready, takes in what came of them, and commits when it has to.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use domain::ids::EndpointKey;
use domain::json::Json;
use domain::runs::RunError;
use domain::workflow::{Ended, Retention, Spot};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value, json};
use store::{JobId, JobLease, TimerLease};
use tokio::sync::oneshot;

use super::again::StepAt;
use super::barrier::Barrier;
use super::commit::Point;
use super::failure::{Failure, context};
use super::given::{Given, RunGiven};
use super::pending::Pending;
use super::state::State;
use super::step::{StepContext, StepJob};
use super::version::Version;
use crate::invoke::{Invocation, Owner, ReplySlot, Target, Transaction};
use crate::ports::{Call, Fault, RunLimits};
use crate::records::workflow_run::RunState;
use crate::records::{Step, Workflow, WorkflowRun};
use crate::{Error, Platform, sealed_props};

/// Steps of one run at once.
const AT_ONCE: usize = 16;
/// Steps of one run, iterations counted: a list of lists ends here.
const STEPS_RUN_MAXIMUM: usize = 10_000;

/// What this process has a run by.
pub(crate) enum Hold {
    Job(JobLease),
    Tick(TimerLease),
    /// It began here, and its client waits.
    Own,
}

/// How long a hold lasts that is renewed, and who is told which job it is of.
pub(crate) struct Renewed {
    pub(crate) lease_ms: u64,
    pub(crate) held: Option<oneshot::Sender<JobId>>,
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
    /// Where an answer is waited for: what a step responded is there once that step is committed.
    pub(crate) reply: Option<Arc<ReplySlot>>,
    /// When the run is to be durable as one that is at work, also when nothing else asks for it.
    pub(crate) accept_at_ms: Option<u64>,
    /// As its record has it.
    pub(super) stored_state: RunState,
    /// Where other hosts might go on with a run that began here: they do when its hold was not renewed for so long.
    pub(crate) renewed: Option<Renewed>,
    /// Called after each commit.
    pub(crate) committed: Box<dyn Fn() + Send + Sync + 'a>,
    pub(super) pending: Pending,
    pub(super) failure: Option<Failure>,
    /// Its end is committed, also where it came early: what it did up to a checkpoint does not fit into one batch.
    pub(super) is_over: bool,
    pub(super) exported_bytes: usize,
    pub(super) steps_run: usize,
    pub(super) deadline_ms: u64,
    pub(super) barrier: Barrier,
    /// Where it is stored and its hold is not renewed: when it is to be given back, should it still be here.
    pub(super) stays_until_ms: Option<u64>,
    /// Since the last commit.
    pub(super) attempts: usize,
    /// Of steps that lost against other runs: they begin again with locks on the keys that they need.
    pub(super) again: HashMap<StepAt, Arc<Transaction>>,
    pub(super) at_work: HashMap<Spot, Arc<Transaction>>,
    /// `steps.trigger.context`, once a step needs it.
    context: OnceLock<Json>,
    pub(super) requests: Option<super::barrier::Requests>,
}

// === impl Running ===

impl<'a> Running<'a> {
    pub(crate) fn new(
        (platform, owner): (&'a Platform, Owner<'a>),
        (workflow, version): (&'a Workflow, &'a Version),
        run: WorkflowRun,
        (stored, hold): (Option<u64>, Hold),
    ) -> Self {
        let ((barrier, requests), stored_state) = (Barrier::new(), run.state);
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
            stored_state,
            renewed: None,
            committed: Box::new(|| ()),
            pending: Pending::default(),
            failure: None,
            is_over: false,
            exported_bytes: 0,
            steps_run: 0,
            deadline_ms: platform.clock.now_ms().saturating_add(version.timeout_ms()),
            barrier,
            stays_until_ms: None,
            attempts: 0,
            again: HashMap::new(),
            at_work: HashMap::new(),
            context: OnceLock::new(),
            requests: Some(requests),
        }
    }

    /// After it was driven: whether it has come to its end, and is not paused.
    pub(crate) fn has_ended(&self) -> bool {
        self.stored.is_none()
    }

    /// Until it has ended or is paused, and that is committed; cancelled, when it was meanwhile. When what it read has changed
    /// it goes on from where it was committed last. After an error it does so later, from the queue.
    #[boxed]
    pub(crate) async fn drive(&mut self) -> Result<RunState, Error> {
        loop {
            let Err(failure) = self.attempt().await else { return Ok(self.run.state) };
            match self.begin_again(failure).await {
                Ok(true) => {}
                Ok(false) => return Ok(RunState::Cancelled),
                Err(failure) => {
                    self.give_back(&failure).await;
                    return Err(failure);
                }
            }
        }
    }

    async fn attempt(&mut self) -> Result<(), Error> {
        let driven = self.run_steps().await;
        self.release_work().await;
        driven?;
        if self.is_over {
            return Ok(());
        }
        let is_over = self.run.position.ended(&self.version.document).is_some();
        self.commit(if is_over { Point::Ended } else { Point::Paused }).await
    }

    async fn run_steps(&mut self) -> Result<(), Error> {
        let Some(mut requests) = self.requests.take() else { return Ok(()) };
        self.run.state = RunState::Executing;
        let mut running = FuturesUnordered::new();
        loop {
            if self.is_over {
                return Ok(());
            }
            let ready = self.run.position.ready(&self.version.document);
            for spot in ready {
                let is_free = !self.is_over && self.at_work.len() < AT_ONCE && !self.at_work.contains_key(&spot);
                if is_free && !self.waits_for_state(&spot) {
                    let Some(job) = self.prepare(spot.clone()).await? else { continue };
                    self.at_work.insert(spot, job.transaction.clone());
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
                    let _ = answer.send(committed.is_ok() && !self.is_over);
                    committed?;
                }
                Some(ran) = running.next() => {
                    let ran = ran?;
                    self.at_work.remove(&ran.spot);
                    self.take(ran);
                    let is_over = self.run.position.ended(&self.version.document).is_some();
                    if is_over {
                        return Ok(());
                    }
                    // Whatever could be seen from outside is not done again for the sake of a later step, and others do not
                    // wait for one.
                    let is_urgent = self.pending.has_left || self.is_waited_for();
                    if is_urgent && !self.run.position.ready(&self.version.document).is_empty() {
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

    /// Steps that keep state in the same place run one after the other: what they read must still hold when all of them are
    /// committed, and each would undo what the others wrote.
    fn waits_for_state(&self, spot: &Spot) -> bool {
        let state = self.state_of(spot);
        !state.is_empty() && self.at_work.keys().any(|other| self.state_of(other).overlaps(&state))
    }

    fn state_of(&self, spot: &Spot) -> State {
        let step = self.run.position.step(&self.version.document, spot);
        let code = step.and_then(|step| self.version.step(&step.namespace));
        code.map_or_else(State::default, |code| State::of(&self.workflow.id, code))
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
        // It has waited for other runs for so long that its hold is about to end.
        if self.stays_until_ms.is_some_and(|until_ms| platform.clock.now_ms() >= until_ms) {
            return Err(Error::Contended);
        }
        if self.steps_run >= STEPS_RUN_MAXIMUM {
            let message = format!("a run has at most {STEPS_RUN_MAXIMUM} steps, iterations counted");
            self.fail(Failure::new(&namespace, "too_many_steps", message));
            return Ok(None);
        }
        self.steps_run += 1;
        // A step finds what was stored an iteration ago, and what a step before it put into a data store.
        if self.pending.writes_in(&State::of(&self.workflow.id, step)) {
            self.commit(Point::Checkpoint).await?;
            if self.is_over {
                return Ok(None);
            }
        }
        let id = version.record.workflow.as_str();
        let mut props = step.props.clone();
        let sealed = version.record.secrets.as_ref();
        let mut secrets = sealed_props::open(platform, self.owner.tenant, id, sealed)?;
        if let Some(Value::Object(secret)) = secrets.remove(&namespace) {
            props.extend(secret);
        }
        self.barrier.set(!self.pending.is_empty());
        Ok(Some(self.job(step, props, spot, Duration::from_millis(time_left_ms))))
    }

    fn job(&mut self, step: &'a Step, props: Map<String, Value>, spot: Spot, time_left: Duration) -> StepJob<'a> {
        let (platform, recording) = (self.platform, self.version.document.settings.recording);
        let key = EndpointKey::from_random(platform.entropy.bytes()).as_str().to_owned();
        let given = Arc::new(self.given(step, &spot, &key));
        let mut limits = RunLimits::background(&platform.config.limits);
        limits.wall_clock = limits.wall_clock.min(time_left);
        let invocation = Invocation {
            owner: self.owner,
            target: Target::of_step(self.workflow, step, props, recording),
            call: Call::Action { steps: given.steps() },
            limits,
            trigger: self.run.trigger.clone(),
            queued_at_ms: platform.clock.now_ms(),
            reply: self.reply.as_ref().map(|_| Arc::default()),
            step: Some(StepContext { barrier: self.barrier.clone(), given, client: self.reply.clone() }),
        };
        let lost = if self.again.is_empty() { None } else { self.again.remove(&(spot.clone(), step.name.clone())) };
        let begins_again = lost.is_some();
        let transaction = lost.unwrap_or_else(|| invocation.transaction_of(platform, self.run.id.clone()));
        StepJob { platform, invocation, transaction, begins_again, emitter: self.workflow.id.as_str(), spot, key }
    }

    /// `steps` of the step at a spot.
    fn given(&self, step: &Step, spot: &Spot, key: &str) -> Given {
        let (position, document) = (&self.run.position, &self.version.document);
        let of_run = || context(self.owner.tenant, self.workflow, &self.run);
        let context = self.context.get_or_init(of_run).clone();
        let (of_step, attempt) = (context.clone(), position.tries(document, spot) + 1);
        let rerun = position.rerun(document, spot);
        let (base, tenant) = (self.platform.config.public_url.clone(), self.owner.tenant.clone());
        let place = format!("{tenant}/{}/{key}", self.run.id);
        let run = move || {
            let mut of_step = of_step.to_value();
            if let Some(fields) = of_step.as_object_mut() {
                fields.insert("attempt".to_owned(), json!(attempt));
                fields.insert("run".to_owned(), rerun);
            }
            let url = |verb: &str| format!("{base}/v1/{verb}/{place}");
            RunGiven { context: of_step, resume_url: url("resume"), cancel_url: url("cancel") }
        };
        Given::new(&position.visible(document, spot), (self.run.event.clone(), context), step.asks, run)
    }

    /// Whether anything of its runs is kept once they have ended.
    pub(super) fn keeps_runs(&self) -> bool {
        self.version.document.settings.retention != Retention::None
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
