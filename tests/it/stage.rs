//! The stage every test plays on: one sandbox, and services whose every answer is known.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use sandbox::{
    Config, FetchError, FetchRequest, FetchRequestBody, FetchResponse, Image, Isolation, Limits, LoadError, LogLine,
    Outcome, Processes, Program, Reply, Sandbox, ServiceError, Services, Task, Write,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;

use crate::replay;

pub(crate) const NOW_MS: f64 = 1_700_000_000_000.0;

/// The sandbox of this test process. Compiled code is kept between processes. With `WELLSPRING_ISOLATE=process` it has worker
/// processes, so that all tests can be run either way.
pub(crate) async fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceCell<Sandbox> = OnceCell::const_new();
    SANDBOX
        .get_or_init(|| async {
            let isolation = if is_isolated() { processes() } else { Isolation::None };
            open(Config { isolation, ..config() }).await
        })
        .await
}

pub(crate) fn is_isolated() -> bool {
    std::env::var("WELLSPRING_ISOLATE").is_ok_and(|how| how == "process")
}

pub(crate) fn config() -> Config {
    let cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sandbox"));
    Config { cache_folder, ..Config::default() }
}

/// Workers of the program that `tests/run.sh` has built.
pub(crate) fn processes() -> Isolation {
    Isolation::Process(Processes {
        program: rig::served::binary().into(),
        arguments: vec!["sandbox-worker".into()],
        groups: NonZeroUsize::new(4).unwrap(),
        threads: 2,
        memory_bytes: 8 << 30,
        margin: Duration::from_secs(5),
    })
}

/// Opens a sandbox whose workers are read from by a runtime that outlives every test, and whose time is real.
pub(crate) async fn open(config: Config) -> Sandbox {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts")
    });
    let opened = RUNTIME.spawn(Sandbox::open(config)).await;
    opened.expect("opening does not panic").expect("the sandbox opens")
}

pub(crate) async fn load(source: &str) -> Result<Image, LoadError> {
    let program = Arc::new(Program::single("component.js", source));
    Ok(sandbox().await.build(program, Limits::default()).await?.image)
}

/// Runs `source` once with an empty event.
pub(crate) async fn run(source: &str, limits: Limits) -> Outcome {
    let image = load(source).await.expect("the component loads");
    run_image(&image, limits, Arc::new(Stage::default())).await
}

pub(crate) async fn run_image(image: &Image, limits: Limits, services: Arc<Stage>) -> Outcome {
    run_call(image, r#"{"kind":"run","event":{}}"#, limits, services).await
}

pub(crate) async fn run_call(image: &Image, call: &str, limits: Limits, services: Arc<Stage>) -> Outcome {
    let limits = Limits { recording_bytes: 16 << 20, ..limits };
    let task = Task { tenant: "test", call, limits, is_urgent: false, replay: None };
    let flushed_before = services.flushed.lock().unwrap().len();
    let outcome = sandbox().await.run(image, task, services.clone()).await.expect("the host does not fail");
    let flushed = services.flushed.lock().unwrap()[flushed_before..].to_vec();
    replay::check_repeatable(image, (call, limits), &outcome, &flushed).await;
    outcome
}

/// A component whose run is `body`.
pub(crate) fn source(body: &str) -> String {
    format!(
        "module.exports = {{name: 'test', version: '1', props: {{db: '$.service.db'}}, async run(event) {{\n{body}\n}}}};"
    )
}

/// Services with known answers that remember what they were asked. Their clock starts at [`NOW_MS`] and runs with
/// the test's virtual time.
pub(crate) struct Stage {
    pub(crate) started: Instant,
    pub(crate) stored: Mutex<HashMap<String, String>>,
    pub(crate) credentials: HashMap<String, String>,
    pub(crate) answers: Mutex<Vec<Answer>>,
    pub(crate) reply: Mutex<Option<Reply>>,
    pub(crate) flushed: Mutex<Vec<Write>>,
    /// Told when the run has asked for a stored value.
    pub(crate) asked: Notify,
}

/// The answer to one outbound request, used once.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Answer {
    #[serde(default = "get")]
    method: String,
    url: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: HashMap<String, String>,
    #[serde(default)]
    body: Value,
    expect_body: Option<Value>,
    error: Option<FetchError>,
}

fn get() -> String {
    "GET".into()
}

fn ok() -> u16 {
    200
}

// === impl Stage ===

impl Default for Stage {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            stored: Mutex::default(),
            credentials: HashMap::new(),
            answers: Mutex::default(),
            reply: Mutex::default(),
            flushed: Mutex::default(),
            asked: Notify::new(),
        }
    }
}

impl Stage {
    fn take_answer(&self, request: &FetchRequest) -> Option<Answer> {
        let mut answers = self.answers.lock().unwrap();
        let at = answers.iter().position(|answer| answer.method == request.method && answer.url == request.url)?;
        Some(answers.remove(at))
    }
}

#[async_trait]
impl Services for Stage {
    fn now_ms(&self) -> f64 {
        NOW_MS + self.started.elapsed().as_secs_f64() * 1000.0
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).unwrap();
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError> {
        self.asked.notify_one();
        Ok(self.stored.lock().unwrap().get(key).cloned())
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        let mut stored = self.stored.lock().unwrap();
        for Write { key, value } in &writes {
            match value {
                Some(value) => stored.insert(key.clone(), value.clone()),
                None => stored.remove(key),
            };
        }
        self.flushed.lock().unwrap().extend(writes);
        Ok(Vec::new())
    }

    async fn credentials(&self, prop: &str) -> Option<String> {
        self.credentials.get(prop).cloned()
    }

    fn reply(&self, reply: Reply) {
        *self.reply.lock().unwrap() = Some(reply);
    }

    fn observe(&self, _line: &LogLine) {}

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let Some(answer) = self.take_answer(&request) else {
            let message = format!("the test expects no {} {}", request.method, request.url);
            return Err(FetchError { code: "unexpected_request".into(), message });
        };
        let body = match request.body {
            FetchRequestBody::Whole(body) => body.to_vec(),
            FetchRequestBody::Stream(mut chunks) => {
                let mut body = Vec::new();
                while let Some(chunk) = chunks.recv().await {
                    body.extend_from_slice(&chunk);
                }
                body
            }
        };
        if let Some(expected) = &answer.expect_body {
            let sent = String::from_utf8_lossy(&body);
            let is_same = match expected {
                Value::String(text) => *text == sent,
                json => serde_json::from_str::<Value>(&sent).is_ok_and(|sent| sent == *json),
            };
            if !is_same {
                let message = format!("the test expects the body {expected}, not {sent}");
                return Err(FetchError { code: "unexpected_body".into(), message });
            }
        }
        if let Some(error) = answer.error {
            return Err(error);
        }
        let text = match &answer.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        // In two pieces, because bodies arrive in pieces.
        let (head, tail) = text.as_bytes().split_at(text.len() / 2);
        let chunks = [head, tail].map(|piece| Ok(Bytes::copy_from_slice(piece)));
        Ok(FetchResponse {
            status: answer.status,
            status_text: String::new(),
            headers: answer.headers.into_iter().collect(),
            url: request.url,
            redirected: false,
            body: futures_util::stream::iter(chunks).boxed(),
        })
    }
}
