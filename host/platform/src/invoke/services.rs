//! The host functions of a run: what its component can reach outside of the sandbox.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use domain::data_stores::Asked;
use domain::workflow::ANSWER_NOW;
use serde_json::json;
use store::Tenant;

use super::reply::ReplySlot;
use super::transaction::{Transaction, service_error};
use super::workflow::{Given, StepContext};
use crate::ports::{self, Carrying, Denied, LogLine, Passage, Reply, RunServices, ServiceError, Write};
use crate::records::names;
use crate::tokens::Injector;
use crate::{Platform, Secret, data_stores};

/// What is particular to one attempt of a run.
pub(crate) struct RunContext {
    pub(crate) transaction: Arc<Transaction>,
    pub(crate) credentials: Arc<HashMap<String, Secret<String>>>,
    /// The accounts behind them; none when the component uses none.
    pub(crate) injector: Option<Arc<Injector>>,
    /// Where the answer is waited for, when the trigger was a request.
    pub(crate) reply: Option<Arc<ReplySlot>>,
    /// Of a step of a workflow.
    pub(crate) step: Option<StepContext>,
}

pub(crate) struct Services {
    platform: Platform,
    context: RunContext,
}

// === impl Services ===

impl Services {
    pub(crate) fn new(platform: &Platform, context: RunContext) -> Self {
        Self { platform: platform.clone(), context }
    }
}

#[async_trait]
impl RunServices for Services {
    fn now_ms(&self) -> f64 {
        self.platform.clock.now_ms() as f64
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.platform.entropy.fill(buffer);
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError> {
        if let Some(step) = &self.context.step {
            if key == ANSWER_NOW {
                // Nothing of the run may be repeated from here on: its client has the answer.
                self.context.transaction.before_request(Vec::new()).await?;
                let responded = self.context.reply.as_ref().and_then(|slot| slot.take());
                if let (Some(client), Some(reply)) = (&step.client, responded) {
                    client.offer(reply);
                }
                step.barrier.commit().await?;
                return Ok(None);
            }
            if let Some(given) = step.given.answer(key) {
                return Ok(Some(given));
            }
        }
        self.context.transaction.answer(key).await
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        if let Some(step) = &self.context.step {
            step.barrier.pass().await?;
        }
        self.context.transaction.before_request(writes).await
    }

    fn credentials(&self, prop: &str) -> Option<String> {
        self.context.credentials.get(prop).map(|credentials| credentials.expose().clone())
    }

    fn has_accounts(&self) -> bool {
        self.context.injector.is_some()
    }

    async fn authorize(&self, request: &ports::Outgoing) -> Result<Passage, Denied> {
        self.context.injector.as_ref().map_or(Ok(Passage::Plain), |injector| injector.authorize(request))
    }

    async fn reauthorize(&self, request: &ports::Outgoing, refused: &Carrying) -> Option<Carrying> {
        self.context.injector.as_ref()?.reauthorize(request, refused).await
    }

    fn conceal(&self, text: String) -> String {
        match &self.context.injector {
            Some(injector) => injector.conceal(text),
            None => text,
        }
    }

    fn reply(&self, reply: Reply) {
        if let Some(slot) = &self.context.reply {
            slot.put(reply);
        }
    }

    fn observe(&self, _line: &LogLine) {}
}

/// Host functions of a replay: what it has no recorded answer for is read from the store, and nothing is written. Requests
/// are not here: a replay that may make them does so through the adapter.
pub(crate) struct Offline {
    platform: Platform,
    tenant: Tenant,
    scope: String,
    reply: Arc<ReplySlot>,
    /// Of a step that asks for it.
    given: Option<Given>,
}

// === impl Offline ===

impl Offline {
    pub(crate) fn new(
        platform: &Platform,
        tenant: &Tenant,
        emitter: &str,
        (reply, given): (Arc<ReplySlot>, Option<Given>),
    ) -> Self {
        Self { platform: platform.clone(), tenant: tenant.clone(), scope: names::db_of(emitter), reply, given }
    }
}

#[async_trait]
impl RunServices for Offline {
    fn now_ms(&self) -> f64 {
        self.platform.clock.now_ms() as f64
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.platform.entropy.fill(buffer);
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError> {
        if let Some(given) = self.given.as_ref().and_then(|given| given.answer(key)) {
            return Ok(Some(given));
        }
        let (platform, tenant) = (&self.platform, &self.tenant);
        let (scope, key) = match Asked::parse(key) {
            None => (self.scope.clone(), stored_key(key)),
            Some(Asked::Value { store, key }) => (names::data_store(store), stored_key(key)),
            Some(Asked::Store { name }) => {
                let found = data_stores::find(platform, tenant, name).await.map_err(service_error)?;
                return Ok(found.map(|kept| json!(kept.record.id).to_string()));
            }
            Some(Asked::Keys { store, after }) => {
                let keys = data_stores::keys(platform, tenant, store, after).await.map_err(service_error)?;
                return Ok(Some(keys.to_string()));
            }
        };
        let values = platform.store.values(tenant, &scope, &[key]).await.map_err(service_error)?;
        let found = values.found.into_iter().next().flatten();
        Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        Ok(writes)
    }

    fn credentials(&self, _prop: &str) -> Option<String> {
        None
    }

    fn reply(&self, reply: Reply) {
        self.reply.put(reply);
    }

    fn observe(&self, _line: &LogLine) {}
}

/// The writes that count: of several to one key the last one.
pub(crate) fn last_writes(writes: Vec<Write>) -> impl Iterator<Item = Write> {
    let mut last: HashMap<String, usize> = HashMap::new();
    for (index, write) in writes.iter().enumerate() {
        last.insert(write.key.clone(), index);
    }
    let counts = move |(index, write): (usize, Write)| (last.get(&write.key) == Some(&index)).then_some(write);
    writes.into_iter().enumerate().filter_map(counts)
}

/// The store has no empty names, and JavaScript has.
pub(crate) fn stored_key(key: &str) -> String {
    if key.is_empty() || key.starts_with('\0') { format!("\0{key}") } else { key.to_owned() }
}

/// The key as JavaScript knows it.
pub(crate) fn shown_key(stored: &str) -> String {
    stored.strip_prefix('\0').unwrap_or(stored).to_owned()
}
