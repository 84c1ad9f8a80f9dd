//! Answers to the requests of components under test: written in the test, or recorded once and played back.
//!
//! A recorded fixture is a file beside the test, `fixtures/orders/each-order-once.json`, made to be read and committed. It
//! holds no headers of requests, no cookies, and none of the values that the test gave as `auth`, in whatever form they were
//! sent or answered: those are replaced by their names (`concealing.rs`).

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use outbound::Outbound;
use sandbox::{FetchError, FetchRequest, FetchRequestBody, FetchResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::concealing::Concealer;
use super::files::ENDINGS;
use crate::wiring::fetching;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Play,
    Record,
}

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
    /// Set before the first request.
    concealer: OnceLock<Concealer>,
    path: PathBuf,
}

/// `fixtures/orders/each-order-once.json`, for the test of this name among all of its file.
pub(super) fn path_of(test: &Path, name: &str, names: &[String]) -> PathBuf {
    let plain = slug(name);
    let is_unique = names.iter().filter(|other| slug(other) == plain).count() <= 1;
    let file = match (plain.is_empty(), is_unique) {
        (false, true) => plain,
        (false, false) => format!("{plain}-{:016x}", digest(name)),
        (true, _) => format!("{:016x}", digest(name)),
    };
    test.with_file_name("fixtures").join(folder_of(test)).join(format!("{file}.json"))
}

/// `orders` for `orders.test.js`; `orders.ts` for an `orders.test.ts` beside it.
fn folder_of(test: &Path) -> String {
    let file = test.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (stem, ending) = file.split_once(".test.").unwrap_or((file, ""));
    let before = ENDINGS.iter().take_while(|other| **other != ending);
    let is_second = before.into_iter().any(|other| test.with_file_name(format!("{stem}.test.{other}")).is_file());
    if is_second { format!("{stem}.{ending}") } else { stem.to_owned() }
}

fn slug(name: &str) -> String {
    let letters =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    letters.take(80).collect::<String>().trim_matches('-').to_owned()
}

/// FNV-1a: the same in every version of this program.
fn digest(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
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
        written: Map<String, Value>,
    ) -> Self {
        Self {
            written: Mutex::new(written),
            recorded: Mutex::new(recorded),
            made: Mutex::default(),
            outbound,
            concealer: OnceLock::new(),
            path: path.to_owned(),
        }
    }

    /// What `$auth` holds in this run, as JSON by prop, is not written down.
    pub(super) fn conceal(&self, credentials: &HashMap<String, String>) {
        let concealer = self.concealer.get_or_init(|| Concealer::new(credentials));
        // Earlier versions found less of it.
        for exchange in lock(&self.recorded).iter_mut() {
            exchange.url = concealer.conceal_text(&exchange.url);
            if let Text::Plain(sent) = &mut exchange.sent {
                *sent = concealer.conceal_text(sent);
            }
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
            None => self.play(&asked).map(|exchange| self.revealed(exchange).into_response(&url)),
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

    /// As it was answered.
    fn revealed(&self, mut exchange: Exchange) -> Exchange {
        if let Some(concealer) = self.concealer.get() {
            exchange.headers.iter_mut().for_each(|(_, value)| *value = concealer.reveal(value));
            if let Text::Plain(body) = &mut exchange.body {
                *body = concealer.reveal(body);
            }
        }
        exchange
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
        self.concealer.get().map_or_else(|| text.to_owned(), |concealer| concealer.conceal_text(text))
    }

    fn hidden_text(&self, bytes: &Bytes) -> Text {
        let hidden = self.concealer.get().map_or_else(|| bytes.to_vec(), |concealer| concealer.conceal(bytes));
        String::from_utf8(hidden)
            .map_or_else(|error| Text::Base64 { base64: STANDARD.encode(error.as_bytes()) }, Text::Plain)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(test: &Path, name: &str, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let path = path_of(test, name, &names);
        path.strip_prefix(test.with_file_name("fixtures")).unwrap().display().to_string()
    }

    #[test]
    fn every_test_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let test = folder.path().join("orders.test.js");
        let long = |end: &str| format!("{} {end}", "x".repeat(90));
        let names = ["Each order, once", "a b", "a-b", "äö", "ü", &long("one"), &long("two")];

        let mut files: Vec<String> = names.iter().map(|name| file(&test, name, &names)).collect();

        assert_eq!(files[0], "orders/each-order--once.json", "as before");
        assert_eq!(files[1], file(&test, "a b", &names));
        files.sort();
        files.dedup();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert!(files.iter().all(|file| !file.contains("/.")), "{files:?}");
    }

    #[test]
    fn tests_in_two_languages_have_two_folders() {
        let folder = tempfile::tempdir().unwrap();
        let [script, typed] = ["a.test.js", "a.test.ts"].map(|name| folder.path().join(name));
        std::fs::write(&typed, "").unwrap();

        assert_eq!(file(&typed, "x", &["x"]), "a/x.json");
        std::fs::write(&script, "").unwrap();
        assert_eq!([&script, &typed].map(|test| file(test, "x", &["x"])), ["a/x.json", "a.ts/x.json"]);
    }
}
