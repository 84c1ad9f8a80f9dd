//! The services of a component that is run from the command line: this machine's clock, and a store for one run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use outbound::Outbound;
use sandbox::{FetchError, FetchRequest, FetchResponse, LogLine, Reply, ServiceError, Services, Write};
use serde_json::{Map, Value};

use crate::wiring::fetching;

/// Services of one local run.
pub struct LocalServices {
    outbound: Outbound,
    credentials: HashMap<String, String>,
    stored: Mutex<HashMap<String, String>>,
    reply: Mutex<Option<Reply>>,
}

// === impl LocalServices ===

impl LocalServices {
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound, credentials: HashMap::new(), stored: Mutex::default(), reply: Mutex::default() }
    }

    /// With JSON of `$auth`, by prop.
    pub(crate) fn with_credentials(self, credentials: HashMap<String, String>) -> Self {
        Self { credentials, ..self }
    }

    /// With what `db` holds.
    pub(crate) fn with_stored(self, values: &Map<String, Value>) -> Self {
        let stored = values.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        Self { stored: Mutex::new(stored), ..self }
    }

    /// As it was before the run: also what was stored before a request is taken back, and the answer.
    pub(crate) fn take_back(&self, values: &Map<String, Value>) {
        let before = values.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        if let Ok(mut stored) = self.stored.lock() {
            *stored = before;
        }
        self.take_reply();
    }

    pub(crate) fn write(&self, writes: &[Write]) {
        if let Ok(mut stored) = self.stored.lock() {
            for Write { key, value } in writes {
                match value {
                    Some(value) => stored.insert(key.clone(), value.clone()),
                    None => stored.remove(key),
                };
            }
        }
    }

    /// What `db` holds now.
    pub(crate) fn stored(&self) -> Value {
        let stored = self.stored.lock().map(|stored| stored.clone()).unwrap_or_default();
        let values = stored.into_iter().map(|(key, value)| (key, serde_json::from_str(&value).unwrap_or_default()));
        let sorted: BTreeMap<String, Value> = values.collect();
        Value::Object(sorted.into_iter().collect())
    }

    pub(crate) fn take_reply(&self) -> Option<Reply> {
        self.reply.lock().ok()?.take()
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
        Ok(self.stored.lock().ok().and_then(|stored| stored.get(key).cloned()))
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        self.write(&writes);
        Ok(Vec::new())
    }

    async fn credentials(&self, prop: &str) -> Option<String> {
        self.credentials.get(prop).cloned()
    }

    fn reply(&self, reply: Reply) {
        if let Ok(mut slot) = self.reply.lock() {
            *slot = Some(reply);
        }
    }

    fn observe(&self, line: &LogLine) {
        eprintln!("{:?}: {}", line.level, line.message);
    }

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        fetching::fetch(&self.outbound, request).await
    }
}
