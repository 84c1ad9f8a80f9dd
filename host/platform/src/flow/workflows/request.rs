//! Requests to the endpoint of a workflow.

use std::sync::{Arc, Mutex, PoisonError};

use domain::json::Json;
use domain::runs::{Trigger, TriggerKind};
use domain::trace::TraceContext;
use store::{Sharing, Tenant};
use tokio::sync::oneshot;

use crate::Error;
use crate::flow::admit::{Answer, Answered, Refusal, Waiting, refusal};
use crate::flow::handle::Flow;
use crate::flow::workflows::queue_is_full;
use crate::invoke::workflow::{Hold, NewRun, Renewed, Running, Version, enqueue};
use crate::invoke::{Frame, Owner, ReplySlot};
use crate::ports::SandboxError;
use crate::quotas::Admission;
use crate::records::{Workflow, WorkflowRun};

/// A request that may run.
pub(in crate::flow) struct WorkflowRequest {
    pub(in crate::flow) tenant: Tenant,
    pub(in crate::flow) admission: Admission,
    pub(in crate::flow) workflow: Arc<Workflow>,
    /// `hi_…`
    pub(in crate::flow) trigger: String,
    pub(in crate::flow) has_custom_response: bool,
    pub(in crate::flow) trace: TraceContext,
}

/// What the client is told, once.
#[derive(Clone)]
struct Client(Arc<Mutex<Option<Waiting>>>);

// === impl Flow ===

impl Flow {
    pub(in crate::flow) async fn answer_workflow(&self, request: WorkflowRequest, event: Json, waiting: Waiting) {
        let client = Client(Arc::new(Mutex::new(Some(waiting))));
        if let Err(error) = self.run_workflow_request(&request, event, &client).await {
            let id = &request.workflow.id;
            match client.take() {
                Some(waiting) => drop(waiting.send(Err(refusal(error)))),
                None => tracing::warn!(workflow.id = %id, %error, "an accepted run goes on later"),
            }
        }
    }

    async fn run_workflow_request(&self, request: &WorkflowRequest, event: Json, client: &Client) -> Result<(), Error> {
        let (platform, workflow) = (&self.platform, &*request.workflow);
        let found = platform.versions().find(platform, &request.tenant, &workflow.id, workflow.version).await?;
        let version = found.ok_or_else(|| Error::not_found(crate::Noun::Workflow, &workflow.id))?;
        let run = self.new_run(request, &version, event);
        if version.document.settings.queues() && !request.has_custom_response {
            return self.queue_request(request, &version, run, client).await;
        }
        match self.drive_request(request, &version, run.clone(), client).await {
            // Nothing of it is committed yet, and what can be answered at once need not run at once: it has a queue.
            Err(error) if may_wait(&error) && !request.has_custom_response && client.is_waiting() => {
                self.queue_request(request, &version, run, client).await
            }
            driven => driven,
        }
    }

    fn new_run(&self, request: &WorkflowRequest, version: &Version, event: Json) -> WorkflowRun {
        let new = NewRun {
            trigger: Trigger { kind: TriggerKind::Http, id: Some(request.trigger.clone()) },
            event_id: None,
            event,
            cause: Frame::traced(&self.platform, request.trace).cause,
            queued_at_ms: self.platform.clock.now_ms(),
            is_replay: false,
        };
        new.into_run(&self.platform, &request.workflow, version)
    }

    async fn queue_request(
        &self,
        request: &WorkflowRequest,
        version: &Version,
        mut run: WorkflowRun,
        client: &Client,
    ) -> Result<(), Error> {
        let queued = enqueue(&self.platform, version, &mut run)?;
        let mut batch = self.platform.batch(&request.tenant).require(queued.room);
        batch.operations = queued.operations;
        match self.platform.commit_work(batch).await {
            Err(Error::Changed) => return Err(self.tell_full_queue(request, version, &run).await?),
            queued => queued?,
        }
        queued.job.keep_place();
        client.answer(Ok(Answered { answer: Answer::Accepted, run_id: run.id }));
        Ok(())
    }

    /// The client is told to come back; that an event was dropped is told in `$errors` as well.
    async fn tell_full_queue(
        &self,
        request: &WorkflowRequest,
        version: &Version,
        run: &WorkflowRun,
    ) -> Result<Error, Error> {
        let size = version.document.settings.queue_size;
        let report = self.report_of(&request.workflow, &queue_is_full(size), &run.event)?;
        self.platform.commit(self.platform.batch(&request.tenant).then(report)).await?;
        Ok(Error::QueueFull { size })
    }

    async fn drive_request(
        &self,
        request: &WorkflowRequest,
        version: &Version,
        run: WorkflowRun,
        client: &Client,
    ) -> Result<(), Error> {
        let owner = Owner::admitted(&request.tenant, &request.admission);
        let run_id = run.id.clone();
        let slot = request.has_custom_response.then(Arc::<ReplySlot>::default);
        let parts = ((&self.platform, owner), (&*request.workflow, version));
        let mut running = Running::new(parts.0, parts.1, run, (None, Hold::Own));
        running.reply = slot.clone();
        running.accept_at_ms = slot.is_none().then(|| self.grace_ends_ms());
        let (answering, id) = (client.clone(), run_id.clone());
        running.committed = Box::new(move || {
            let answer = match &slot {
                None => Some(Answer::Accepted),
                Some(slot) => slot.take().map(Answer::Replied),
            };
            if let Some(answer) = answer {
                answering.answer(Ok(Answered { answer, run_id: id.clone() }));
            }
        });
        let (held, job) = oneshot::channel();
        if self.platform.store.sharing() != Sharing::Alone {
            running.renewed = Some(Renewed { lease_ms: self.config.lease_ms, held: Some(held) });
        }
        self.holding_when_known(&request.tenant, job, running.drive()).await?;
        if running.has_ended() {
            request.admission.use_up();
        }
        client.answer(Err(Refusal::NotResponded { run_id }));
        Ok(())
    }
}

/// The tenant, or the host, has no place for another run now, or too many runs are at work on the same values.
fn may_wait(error: &Error) -> bool {
    matches!(error, Error::Sandbox(SandboxError::Overloaded(_)) | Error::Contended)
}

// === impl Client ===

impl Client {
    fn take(&self) -> Option<Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_waiting(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Only the first answer counts; a client that went away does not concern the run.
    fn answer(&self, answer: Result<Answered, Refusal>) {
        if let Some(waiting) = self.take() {
            drop(waiting.send(answer));
        }
    }
}
