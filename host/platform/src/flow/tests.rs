//! The data plane on stand-ins and a clock that is moved by hand.

mod trigger;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use store::{Entry, EntryQuery, Reads};
use tokio::sync::Notify;

use super::{Answer, Config, Flow, Handle, Refusal};
use crate::Caller;
use crate::fake::{World, component};
use crate::manage::components::CodeRequest;
use crate::manage::sources::{CreateSource, create};
use crate::records::{Event, Source};

/// A world, somebody in it, and the data plane.
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
        let handle = Flow::start(world.platform.clone(), config);
        Self { world, caller, handle }
    }

    async fn deploy(&self, name: &str, more: Value) -> Source {
        let code = CodeRequest { component_code: Some(component(name, more)), ..CodeRequest::default() };
        let request = CreateSource { component: code, name: None, configured_props: Map::new() };
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
        self.handle.trigger(admitted, event).await
    }

    /// The same from a task of its own, for runs that are held.
    fn post_aside(&self, source: &Source, event: Value) -> tokio::task::JoinHandle<Result<Answer, Refusal>> {
        let (handle, key) = (self.handle.clone(), source.endpoint_key.clone());
        tokio::spawn(async move {
            let admitted = handle.admit(key.as_str()).await?;
            handle.trigger(admitted, event).await
        })
    }

    /// What lies in a stream, oldest first.
    async fn stream(&self, source: &Source, stream: &str) -> Vec<Value> {
        let query = EntryQuery { order: store::Order::OldestFirst, ..EntryQuery::newest(1000) };
        let entries = self.world.store.entries(&self.caller.tenant, source.id.as_str(), stream, query).await.unwrap();
        let event = |entry: Entry| Event::decode(&entry.value).unwrap().event;
        entries.into_iter().map(event).collect()
    }

    /// Ends every run that outlives its request.
    async fn wait_for_runs(&self) {
        self.handle.tasks.close();
        self.handle.tasks.wait().await;
        self.handle.tasks.reopen();
    }
}
