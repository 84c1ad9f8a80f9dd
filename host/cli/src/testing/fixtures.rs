//! Answers to the requests of components under test: written in the test, or recorded once and played back.
//!
//! A recorded fixture is a file beside the test, `fixtures/orders/each-order-once.json`, made to be read and committed. It
//! holds no headers of requests, no cookies, and none of the values that the test gave as `auth`: those are replaced by
//! their names.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use outbound::Outbound;
use sandbox::{FetchError, FetchRequest, FetchRequestBody, FetchResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wiring::fetching;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Play,
    Record,
}

/// Shorter values would be found everywhere.
const SECRET_CHARACTERS_MINIMUM: usize = 6;
/// Of answers, never kept.
const HEADERS_LEFT_OUT: [&str; 4] = ["set-cookie", "authorization", "date", "connection"];

/// A request that was made and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exchange {
    method: String,
    url: String,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    sent: Text,
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Text,
}

/// A body: its text, or base64 when it is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Base64 { base64: String },
}

/// Of one run of a component.
pub(super) struct Fixtures {
    /// Those that the test wrote, by `METHOD url`; a list is used up from its front, and its last stays.
    written: Mutex<Map<String, Value>>,
    /// Played back in order, among requests that are the same.
    recorded: Mutex<VecDeque<Exchange>>,
    /// What was recorded now.
    made: Mutex<Vec<Exchange>>,
    /// Where requests go when they are recorded.
    outbound: Option<Outbound>,
    /// Values that are not written down, with what stands for them.
    secrets: Vec<(String, String)>,
    path: PathBuf,
}

/// `fixtures/orders/each-order-once.json`, for the test of this name.
pub(super) fn path_of(test: &Path, name: &str) -> PathBuf {
    let file = test.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = file.split(".test.").next().unwrap_or(file);
    let letters =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let slug: String = letters.take(80).collect();
    test.with_file_name("fixtures").join(stem).join(format!("{}.json", slug.trim_matches('-')))
}

pub(super) fn read(path: &Path) -> Result<VecDeque<Exchange>> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("{} is no fixture", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(VecDeque::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

pub(super) fn write(path: &Path, exchanges: &[Exchange]) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).with_context(failed)?;
    let mut text = serde_json::to_string_pretty(exchanges)?;
    text.push('\n');
    std::fs::write(path, text).with_context(failed)
}

// === impl Fixtures ===

impl Fixtures {
    pub(super) fn new(
        path: &Path,
        recorded: VecDeque<Exchange>,
        outbound: Option<Outbound>,
        (written, auth): (Map<String, Value>, &Map<String, Value>),
    ) -> Self {
        Self {
            written: Mutex::new(written),
            recorded: Mutex::new(recorded),
            made: Mutex::default(),
            outbound,
            secrets: secrets_of(auth),
            path: path.to_owned(),
        }
    }

    /// What is left to play back, and what was recorded, when the run is over.
    pub(super) fn take(&self) -> (VecDeque<Exchange>, Vec<Exchange>) {
        let recorded = std::mem::take(&mut *lock(&self.recorded));
        (recorded, std::mem::take(&mut *lock(&self.made)))
    }

    pub(super) async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let (method, url) = (request.method.clone(), request.url.clone());
        if let Some(answer) = self.written(&method, &url) {
            return Ok(answer?.into_response(&url));
        }
        let (sent, request) = whole(request).await;
        let asked = Exchange {
            method: method.clone(),
            url: self.hide(&url),
            sent: self.hidden_text(&sent),
            status: 0,
            headers: Vec::new(),
            body: Text::default(),
        };
        match &self.outbound {
            Some(outbound) => self.record(outbound, asked, request).await,
            None => self.play(&asked).map(|exchange| exchange.into_response(&url)),
        }
    }

    /// The answer that the test wrote.
    fn written(&self, method: &str, url: &str) -> Option<Result<Exchange, FetchError>> {
        let mut written = lock(&self.written);
        // A plain address is meant for every method.
        let keys = [format!("{method} {url}"), url.to_owned()];
        let key = keys.iter().find(|key| written.contains_key(key.as_str()))?;
        let answer = match written.get_mut(key)? {
            Value::Array(answers) if answers.len() > 1 => answers.remove(0),
            Value::Array(answers) => answers.first().cloned().unwrap_or_default(),
            answer => answer.clone(),
        };
        Some(parse_written(method, url, answer))
    }

    fn play(&self, asked: &Exchange) -> Result<Exchange, FetchError> {
        let mut recorded = lock(&self.recorded);
        let is_same =
            |known: &Exchange| (&known.method, &known.url, &known.sent) == (&asked.method, &asked.url, &asked.sent);
        let found = recorded.iter().position(is_same).and_then(|at| recorded.remove(at));
        found.ok_or_else(|| FetchError {
            code: "no_fixture".to_owned(),
            message: format!(
                "there is no fixture for {} {} in {}: run `wellspring test --record`, or answer it with `fetch` in the test",
                asked.method,
                asked.url,
                self.path.display()
            ),
        })
    }

    async fn record(
        &self,
        outbound: &Outbound,
        asked: Exchange,
        request: FetchRequest,
    ) -> Result<FetchResponse, FetchError> {
        let url = request.url.clone();
        let mut response = fetching::fetch(outbound, request).await?;
        let chunks: Vec<Bytes> = std::mem::replace(&mut response.body, stream::empty().boxed()).try_collect().await?;
        let body = Bytes::from(chunks.concat());
        let is_kept = |name: &str| !HEADERS_LEFT_OUT.contains(&name.to_ascii_lowercase().as_str());
        // Bodies arrive decoded, and whole.
        let is_of_transfer = |name: &str| {
            ["content-encoding", "content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
        };
        let headers = response.headers.iter().filter(|(name, _)| is_kept(name) && !is_of_transfer(name));
        let exchange = Exchange {
            status: response.status,
            headers: headers.map(|(name, value)| (name.clone(), self.hide(value))).collect(),
            body: self.hidden_text(&body),
            ..asked
        };
        lock(&self.made).push(exchange);
        response.body = stream::iter([Ok(body)]).boxed();
        response.url = url;
        Ok(response)
    }

    fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, (value, name)| text.replace(value.as_str(), name))
    }

    fn hidden_text(&self, bytes: &Bytes) -> Text {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::Plain(self.hide(text)),
            Err(_) => Text::Base64 { base64: STANDARD.encode(bytes) },
        }
    }
}

// === impl Exchange ===

impl Exchange {
    fn into_response(self, url: &str) -> FetchResponse {
        let body = self.body.into_bytes();
        FetchResponse {
            status: self.status,
            status_text: String::new(),
            headers: self.headers,
            url: url.to_owned(),
            redirected: false,
            body: stream::iter([Ok(body)]).boxed(),
        }
    }
}

// === impl Text ===

impl Default for Text {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl Text {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Plain(text) => text.into(),
            Self::Base64 { base64 } => STANDARD.decode(base64).unwrap_or_default().into(),
        }
    }
}

/// `{status, headers, body}`, where a body that is no text is sent as JSON; or a body alone.
fn parse_written(method: &str, url: &str, answer: Value) -> Result<Exchange, FetchError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        #[serde(default = "ok")]
        status: u16,
        #[serde(default)]
        headers: Map<String, Value>,
        #[serde(default)]
        body: Value,
    }
    fn ok() -> u16 {
        200
    }
    let wrong = |error: serde_json::Error| FetchError {
        code: "bad_fixture".to_owned(),
        message: format!("the answer to {method} {url} in the test is not {{status, headers, body}}: {error}"),
    };
    let written: Written = serde_json::from_value(answer).map_err(wrong)?;
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut headers: Vec<(String, String)> =
        written.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect();
    let is_json = !written.body.is_string() && !written.body.is_null();
    if is_json && !headers.iter().any(|(name, _)| name == "content-type") {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let body = if written.body.is_null() { String::new() } else { text(written.body) };
    let (method, url) = (method.to_owned(), url.to_owned());
    Ok(Exchange { method, url, sent: Text::default(), status: written.status, headers, body: Text::Plain(body) })
}

/// The texts in `auth`, longest first so that none hides a part of another.
fn secrets_of(auth: &Map<String, Value>) -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    for (prop, values) in auth {
        for (name, value) in values.as_object().into_iter().flatten() {
            if let Some(text) = value.as_str().filter(|text| text.len() >= SECRET_CHARACTERS_MINIMUM) {
                secrets.push((text.to_owned(), format!("<{prop}.{name}>")));
            }
        }
    }
    secrets.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    secrets
}

/// The body of a request, and the request with the same body.
async fn whole(request: FetchRequest) -> (Bytes, FetchRequest) {
    let body = match request.body {
        FetchRequestBody::Whole(bytes) => bytes,
        FetchRequestBody::Stream(mut chunks) => {
            let mut all = Vec::new();
            while let Some(chunk) = chunks.recv().await {
                all.extend_from_slice(&chunk);
            }
            all.into()
        }
    };
    (body.clone(), FetchRequest { body: FetchRequestBody::Whole(body), ..request })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
