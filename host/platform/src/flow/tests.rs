//! The data plane on stand-ins and a clock that is moved by hand.

mod crash;
mod deliver;
mod follow;
mod keeping;
mod not_kept;
mod numbers;
mod quotas;
mod recordings;
mod recover;
mod redeliver;
mod replies;
mod retention;
mod runs;
mod schedule;
mod spans;
mod switched_off;
mod transaction;
mod trigger;
mod webhooks;
mod work;
mod workflow;
mod workflow_contention;
mod workflow_crash;
mod workflow_requests;
mod workflow_runs;
mod workflow_sends;
mod workflow_settings;
mod workflow_triggers;

use std::sync::Arc;

use domain::ids::ListenerId;
use domain::subscriptions::{EmitterPattern, EventName};
use serde_json::{Map, Value, json};
use store::{Entry, EntryQuery, Job, LeaseRequest, Partition, Reads, Store, Tick, Work};
use tokio::sync::Notify;

use super::{Answer, Config, Flow, Handle, Refusal};
use crate::Caller;
use crate::fake::{World, component, emit, returned};
use crate::manage::components::CodeRequest;
use crate::manage::sources::{CreateSource, create};
use crate::manage::subscriptions::{self, Wanted};
use crate::manage::webhooks::{Created, NewWebhook, create as create_webhook};
use crate::ports::{Clock, Outcome};
use crate::records::{Event, Source, StreamEntry};

/// A platform on fakes, a caller, and the data plane.
struct Stage {
    world: World,
    caller: Caller,
    handle: Handle,
}

/// Lets a test hold a component in the middle of its run.
#[derive(Clone, Default)]
struct Hold {
    started: Arc<Notify>,
    released: Arc<Notify>,
}

impl Hold {
    async fn pass(&self) {
        self.started.notify_one();
        self.released.notified().await;
    }
}

impl Stage {
    async fn new() -> Self {
        Self::with(World::default(), Config::default()).await
    }

    async fn with(world: World, config: Config) -> Self {
        let caller = world.admin().await;
        let (handle, _) = Flow::new(world.platform.clone(), world.chores(), config);
        Self { world, caller, handle }
    }

    async fn deploy(&self, name: &str, more: Value) -> Source {
        let code = CodeRequest { component_code: Some(component(name, more)), ..CodeRequest::default() };
        let request = CreateSource { component: code, name: None, configured_props: Map::new(), project: None };
        create(&self.caller, &self.world.platform, request).await.unwrap()
    }

    /// A source with an endpoint.
    async fn endpoint(&self, name: &str, more: Value) -> Source {
        let mut description = json!({"props": {"http": {"type": "$.interface.http"}}});
        description.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.deploy(name, description).await
    }

    async fn post(&self, source: &Source, event: Value) -> Result<Answer, Refusal> {
        let admitted = self.handle.admit(source.endpoint_key.as_str()).await?;
        self.handle.trigger(admitted, event).await.map(|answered| answered.answer)
    }

    /// The same from a task of its own, for runs that are held.
    fn post_aside(&self, source: &Source, event: Value) -> tokio::task::JoinHandle<Result<Answer, Refusal>> {
        let (handle, key) = (self.handle.clone(), source.endpoint_key.clone());
        tokio::spawn(async move {
            let admitted = handle.admit(key.as_str()).await?;
            handle.trigger(admitted, event).await.map(|answered| answered.answer)
        })
    }

    /// What a client gets of a run that responds, and is then held.
    async fn post_held(&self, source: &Source, hold: &Hold) -> Answer {
        let asking = self.post_aside(source, json!({}));
        hold.started.notified().await;
        // The reply is taken in the poll after the one that started the run.
        tokio::task::yield_now().await;
        self.world.clock.advance(5);
        asking.await.unwrap().unwrap()
    }

    /// What lies in a stream, oldest first.
    async fn stream(&self, source: &Source, stream: &str) -> Vec<Value> {
        let query = EntryQuery { order: store::Order::OldestFirst, ..EntryQuery::newest(1000) };
        let entries = self.world.store.entries(&self.caller.tenant, source.id.as_str(), stream, query).await.unwrap();
        let event = |entry: Entry| Event::decode(&entry.value).unwrap().event.to_value();
        entries.into_iter().map(event).collect()
    }

    /// Listens to a stream of everything that matches.
    async fn subscribe(&self, emitter: &str, listener: &str, event_name: &str) {
        let wanted = Wanted {
            emitter: EmitterPattern::parse(emitter).unwrap(),
            listener: ListenerId::parse(listener).unwrap(),
            event_name: EventName::parse(event_name).unwrap(),
        };
        subscriptions::create(&self.caller, &self.world.platform, wanted).await.unwrap();
    }

    /// A webhook at `url`, listening to the default stream of everything.
    async fn webhook(&self, url: &str) -> Created {
        let new = NewWebhook { url: url.to_owned(), ..NewWebhook::default() };
        let created = create_webhook(&self.caller, &self.world.platform, new).await.unwrap();
        self.subscribe("dc_*", created.webhook.id.as_str(), "default").await;
        created
    }

    /// One that hears what an emitter emits.
    async fn webhook_of(&self, emitter: &str, url: &str) {
        let new = NewWebhook { url: url.to_owned(), ..NewWebhook::default() };
        let created = create_webhook(&self.caller, &self.world.platform, new).await.unwrap();
        self.subscribe(emitter, created.webhook.id.as_str(), "default").await;
    }

    /// The urls of everything posted so far.
    fn posted(&self) -> Vec<String> {
        self.world.outbound.posted().into_iter().map(|posting| posting.url).collect()
    }

    async fn lease_jobs(&self) -> Vec<Job> {
        let partitions = Partition::all(self.world.store.partitions());
        let request = LeaseRequest { now_ms: self.now_ms(), lease_ms: self.handle.config.lease_ms, max: 100 };
        self.world.store.lease_jobs(&partitions, request, store::Shares::default()).await.unwrap().items
    }

    async fn lease_timers(&self) -> Vec<Tick> {
        let partitions = Partition::all(self.world.store.partitions());
        let request = LeaseRequest { now_ms: self.now_ms(), lease_ms: self.handle.config.lease_ms, max: 100 };
        self.world.store.lease_timers(&partitions, request).await.unwrap().items
    }

    fn now_ms(&self) -> u64 {
        self.world.clock.now_ms()
    }

    /// Runs of `slow` wait until they are let go on, and emit their event.
    fn script_slow(&self) -> Hold {
        let hold = Hold::default();
        let inside = hold.clone();
        self.world.sandbox.script_async("slow", move |call, _| {
            let inside = inside.clone();
            async move {
                inside.pass().await;
                Outcome { emits: vec![emit(&call["event"])], ..returned(&json!(null)) }
            }
        });
        hold
    }

    async fn perform_job(&self, job: &Job) {
        self.handle.perform_job(job, self.handle.admit_work(&job.tenant)).await;
    }

    async fn perform_tick(&self, tick: &Tick) {
        self.handle.perform_tick(tick, self.handle.admit_work(&tick.tenant)).await;
    }

    /// Works on everything that is due now, one after the other; how much that was.
    async fn work(&self) -> usize {
        let mut done = 0;
        loop {
            let (jobs, ticks) = (self.lease_jobs().await, self.lease_timers().await);
            if jobs.is_empty() && ticks.is_empty() {
                return done;
            }
            for job in jobs {
                self.perform_job(&job).await;
                done += 1;
            }
            for tick in ticks {
                self.perform_tick(&tick).await;
                done += 1;
            }
            assert!(done < 10_000, "work that never ends");
        }
    }

    /// Another host on the same store, which remembers nothing.
    fn restart(&mut self) {
        (self.handle, _) = Flow::new(self.world.platform.clone(), self.world.chores(), self.handle.config.clone());
    }

    /// Ends every run that outlives its request.
    async fn wait_for_runs(&self) {
        self.handle.tasks.close();
        self.handle.tasks.wait().await;
        self.handle.tasks.reopen();
    }
}
