//! The services of a component that is run from the command line: this machine's clock, and a store for one run.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use outbound::Outbound;
use sandbox::{FetchError, FetchRequest, FetchResponse, LogLine, Reply, ServiceError, Services, Write};
use serde_json::{Map, Value};

use crate::local_store::LocalStore;
use crate::logging;
use crate::wiring::fetching;

/// Services of one local run.
pub struct LocalServices {
    outbound: Outbound,
    credentials: HashMap<String, String>,
    store: LocalStore,
}

// === impl LocalServices ===

impl LocalServices {
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound, credentials: HashMap::new(), store: LocalStore::default() }
    }

    /// With JSON of `$auth`, by prop.
    pub(crate) fn with_credentials(self, credentials: HashMap<String, String>) -> Self {
        Self { credentials, ..self }
    }

    /// With what `db` holds.
    pub(crate) fn with_stored(self, values: &Map<String, Value>) -> Self {
        Self { store: LocalStore::new(values), ..self }
    }

    pub(crate) fn store(&self) -> &LocalStore {
        &self.store
    }
}

#[async_trait]
impl Services for LocalServices {
    #[expect(clippy::disallowed_methods, reason = "the clock of a run without a server")]
    fn now_ms(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        // A kernel without randomness is none this program starts on; zeros would be worse than stopping.
        if getrandom::fill(buffer).is_err() {
            std::process::abort();
        }
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError> {
        Ok(self.store.get(key))
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        self.store.flush(writes);
        Ok(Vec::new())
    }

    async fn credentials(&self, prop: &str) -> Option<String> {
        self.credentials.get(prop).cloned()
    }

    fn reply(&self, reply: Reply) {
        self.store.reply(reply);
    }

    fn observe(&self, line: &LogLine) {
        logging::line(&format!("{:?}: {}", line.level, line.message));
    }

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        fetching::fetch(&self.outbound, request).await
    }
}
