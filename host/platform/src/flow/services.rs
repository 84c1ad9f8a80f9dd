//! What a run finds behind the wall.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use store::{Batch, CommitError, Op, Tenant};
use tokio::sync::oneshot;

use crate::ports::{LogLine, Reply, RunServices, ServiceError, Write};
use crate::{Platform, Secret};

/// What is particular to one run.
pub struct RunContext {
    pub tenant: Tenant,
    /// Where `$.service.db` keeps its values.
    pub scope: String,
    pub credentials: HashMap<String, Secret<String>>,
    /// Who waits for the answer; nobody when the trigger was no request.
    pub reply: Option<oneshot::Sender<Reply>>,
}

pub struct Services {
    platform: Platform,
    tenant: Tenant,
    scope: String,
    credentials: HashMap<String, Secret<String>>,
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
    /// A flush was refused because the source's store is full: the component's failure, not ours.
    is_full: AtomicBool,
}

// === impl Services ===

impl Services {
    pub fn new(platform: &Platform, context: RunContext) -> Self {
        let RunContext { tenant, scope, credentials, reply } = context;
        let reply = Mutex::new(reply);
        Self { platform: platform.clone(), tenant, scope, credentials, reply, is_full: AtomicBool::new(false) }
    }

    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
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
        let keys = [stored_key(key)];
        let values = self.platform.store.values(&self.tenant, &self.scope, &keys).await.map_err(service_error)?;
        let found = values.found.into_iter().next().flatten();
        Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn flush(&self, writes: Vec<Write>) -> Result<(), ServiceError> {
        let mut batch = Batch::new(&self.tenant, self.platform.clock.now_ms());
        batch.operations = write_operations(&self.scope, writes, self.platform.config.limits.db_source_bytes);
        match self.platform.store.commit(batch).await {
            Ok(_) => Ok(()),
            Err(error) => {
                self.is_full.store(matches!(error, CommitError::OverCap { .. }), Ordering::Relaxed);
                Err(service_error(error))
            }
        }
    }

    fn credentials(&self, prop: &str) -> Option<String> {
        self.credentials.get(prop).map(|credentials| credentials.expose().clone())
    }

    fn reply(&self, reply: Reply) {
        let waiting = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // A client that went away does not concern the run.
            let _ = waiting.send(reply);
        }
    }

    fn observe(&self, _line: &LogLine) {}
}

/// The operations that store a run's writes; of several to one key the last one counts.
pub(crate) fn write_operations(scope: &str, writes: Vec<Write>, cap_bytes: usize) -> Vec<Op> {
    let cap_bytes = u64::try_from(cap_bytes).unwrap_or(u64::MAX);
    let mut last: HashMap<String, usize> = HashMap::new();
    for (index, write) in writes.iter().enumerate() {
        last.insert(write.key.clone(), index);
    }
    let counts = |(index, write): (usize, Write)| (last.get(&write.key) == Some(&index)).then_some(write);
    let counting = writes.into_iter().enumerate().filter_map(counts);
    counting
        .map(|Write { key, value }| {
            let (scope, key) = (scope.to_owned(), stored_key(&key));
            match value {
                Some(value) => Op::SetValue { scope, key, value: value.into(), cap_bytes },
                None => Op::RemoveValue { scope, key },
            }
        })
        .collect()
}

/// The store has no empty names, and JavaScript has.
fn stored_key(key: &str) -> String {
    if key.is_empty() || key.starts_with('\0') { format!("\0{key}") } else { key.to_owned() }
}

fn service_error(error: impl std::error::Error + Send + Sync + 'static) -> ServiceError {
    ServiceError(Box::new(error))
}
