//! The services of a test, and those of the components that it runs.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sandbox::{
    FetchError, FetchRequest, FetchRequestBody, FetchResponse, LogLine, Reply, ServiceError, Services, Write,
};
use serde_json::{Map, Value, json};

use super::components::{Components, Request};
use super::fixtures::{self, Exchange, Fixtures, Mode};
use crate::local_store::LocalStore;

/// Where the harness asks for runs.
const RUN_URL: &str = "http://run.test.invalid/";

/// Of one test.
pub(super) struct TestServices {
    components: Option<Arc<Components>>,
    path: PathBuf,
    mode: Mode,
    /// What is left to play back.
    recorded: Mutex<VecDeque<Exchange>>,
    made: Mutex<Vec<Exchange>>,
}

// === impl TestServices ===

impl TestServices {
    pub(super) fn new(components: Arc<Components>, path: PathBuf, mode: Mode) -> Result<Self> {
        let recorded = if mode == Mode::Play { fixtures::read(&path)? } else { VecDeque::new() };
        let made = Mutex::default();
        Ok(Self { components: Some(components), path, mode, recorded: Mutex::new(recorded), made })
    }

    /// For a call that only names the tests.
    pub(super) fn idle() -> Self {
        let (recorded, made) = (Mutex::default(), Mutex::default());
        Self { components: None, path: PathBuf::new(), mode: Mode::Play, recorded, made }
    }

    /// Writes what was recorded.
    pub(super) fn keep(&self) -> Result<()> {
        let made = lock(&self.made);
        if self.mode == Mode::Play || made.is_empty() {
            return Ok(());
        }
        fixtures::write(&self.path, &made)
    }

    async fn answer(&self, asked: &Bytes) -> Result<Value> {
        let Some(components) = &self.components else {
            anyhow::bail!("components are run in tests, and not while the file is loaded");
        };
        let mut request: Request = serde_json::from_slice(asked).map_err(|error| anyhow::anyhow!("run(…): {error}"))?;
        let outbound = match self.mode {
            Mode::Record => Some(components.outbound()?),
            Mode::Play => None,
        };
        let written = std::mem::take(&mut request.fetch);
        let recorded = std::mem::take(&mut *lock(&self.recorded));
        let fixtures = Arc::new(Fixtures::new(&self.path, recorded, outbound, written));
        let ran = components.run(request, fixtures.clone()).await;
        let (left, made) = fixtures.take();
        *lock(&self.recorded) = left;
        lock(&self.made).extend(made);
        ran
    }
}

#[async_trait]
impl Services for TestServices {
    fn now_ms(&self) -> f64 {
        now_ms()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        fill_random(buffer);
    }

    async fn db_get(&self, _: &str) -> Result<Option<String>, ServiceError> {
        Ok(None)
    }

    async fn before_request(&self, _: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        Ok(Vec::new())
    }

    async fn credentials(&self, _: &str) -> Option<String> {
        None
    }

    fn reply(&self, _: Reply) {}

    fn observe(&self, _: &LogLine) {}

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let FetchRequestBody::Whole(asked) = &request.body else {
            return Err(refused(&request.url));
        };
        if request.url != RUN_URL {
            return Err(refused(&request.url));
        }
        let (status, body) = match self.answer(asked).await {
            Ok(outcome) => (200, outcome),
            Err(error) => (422, json!({"error": format!("{error:#}")})),
        };
        Ok(FetchResponse {
            status,
            status_text: String::new(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            url: request.url,
            redirected: false,
            body: stream::iter([Ok(Bytes::from(body.to_string()))]).boxed(),
        })
    }
}

fn refused(url: &str) -> FetchError {
    let message = format!("a test makes no requests itself ({url}); the components that it runs do");
    FetchError { code: "refused".to_owned(), message }
}

/// Of one run of a component under test.
pub(super) struct ComponentServices {
    fixtures: Arc<Fixtures>,
    now_ms: Option<f64>,
    credentials: HashMap<String, String>,
    store: LocalStore,
}

// === impl ComponentServices ===

impl ComponentServices {
    pub(super) fn new(
        fixtures: Arc<Fixtures>,
        now_ms: Option<f64>,
        db: &Map<String, Value>,
        credentials: HashMap<String, String>,
    ) -> Self {
        Self { fixtures, now_ms, credentials, store: LocalStore::new(db) }
    }

    pub(super) fn store(&self) -> &LocalStore {
        &self.store
    }
}

#[async_trait]
impl Services for ComponentServices {
    fn now_ms(&self) -> f64 {
        self.now_ms.unwrap_or_else(now_ms)
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        fill_random(buffer);
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

    fn observe(&self, _: &LogLine) {}

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        self.fixtures.fetch(request).await
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of a run without a server")]
fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
}

fn fill_random(buffer: &mut [u8]) {
    // A kernel without randomness is none this program starts on; zeros would be worse than stopping.
    if getrandom::fill(buffer).is_err() {
        std::process::abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
