//! The REST client: one server, one key.
//!
//! It retries nothing: what a command does is decided by a person, who should hear at once that it did not work. Only
//! [`crate::tail`] comes back on its own.

mod answer;
mod follow;
mod frames;
mod paths;
mod version;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::Error;
use crate::models::{Page, PageInfo};

pub use follow::Stage;
pub(crate) use frames::{Frame, Frames};
pub(crate) use paths::path_of_key;
pub use paths::path_segment;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A deploy fetches packages and runs two hooks, which may take five minutes each; nothing takes longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(660);
/// The most that the API gives at once.
const PAGE_SIZE: usize = 100;
/// Most pages of a list that is read whole: far above every quota, so a server that exceeds it is broken.
const PAGES_MAXIMUM: usize = 1000;

/// A key that is not printed by accident.
#[derive(Clone)]
pub struct Key(String);

/// Cheap to clone; connections are shared.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    /// Ends in `/`, so that paths are joined to it.
    base: Url,
    key: Option<Key>,
}

#[derive(serde::Deserialize)]
struct Envelope<T> {
    data: T,
}

/// A parameter of the query string.
pub type Query<'a> = (&'a str, &'a str);

// === impl Key ===

impl Key {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(…)")
    }
}

// === impl Client ===

impl Client {
    /// `url` is where the server is, with or without `/v1` and a slash at the end.
    pub fn new(url: &str, key: Option<Key>) -> Result<Self, Error> {
        // The first one counts; a second call finds it in place.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = parse_base(url)?;
        let builder = reqwest::Client::builder();
        // What HTTP_PROXY names leads out; a server on this machine is not there.
        let builder = if is_on_this_machine(&base) { builder.no_proxy() } else { builder };
        let http = builder
            .connect_timeout(CONNECT_TIMEOUT)
            // A key is for one server; where that sends its clients is for its user to decide.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("wellspring/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::Unreachable { url: url.to_owned(), cause: answer::cause(&error) })?;
        Ok(Self { http, base, key })
    }

    /// Without the slash at the end: what people type.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.read_data(self.request(Method::GET, path, &[])?).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.read_data(self.request(Method::POST, path, &[])?.json(body)).await
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.read_data(self.request(Method::PUT, path, &[])?.json(body)).await
    }

    pub async fn delete(&self, path: &str, query: &[Query<'_>]) -> Result<(), Error> {
        self.send(self.request(Method::DELETE, path, query)?.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }

    /// One page, newest first, of at most `limit` items.
    pub async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[Query<'_>],
        limit: usize,
    ) -> Result<Page<T>, Error> {
        let limit = limit.clamp(1, PAGE_SIZE).to_string();
        let query = [query, &[("limit", limit.as_str())]].concat();
        self.read(self.request(Method::GET, path, &query)?).await
    }

    /// Everything of a list, page by page.
    pub async fn all<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAXIMUM {
            let query: Vec<Query<'_>> = cursor.as_deref().map(|cursor| ("after", cursor)).into_iter().collect();
            let page: Page<T> = self.page(path, &query, PAGE_SIZE).await?;
            let PageInfo { count, end_cursor, .. } = page.page_info;
            items.extend(page.data);
            match end_cursor {
                Some(end) if count >= PAGE_SIZE => cursor = Some(end),
                _ => break,
            }
        }
        Ok(items)
    }

    /// Opens a stream of server-sent events; how long it stays open is for the caller to say.
    pub(crate) async fn stream(
        &self,
        path: &str,
        query: &[Query<'_>],
        last_event_id: Option<&str>,
    ) -> Result<Response, Error> {
        let mut request = self.request(Method::GET, path, query)?.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(HeaderName::from_static("last-event-id"), id);
        }
        self.send(request).await
    }

    fn request(&self, method: Method, path: &str, query: &[Query<'_>]) -> Result<RequestBuilder, Error> {
        let url = paths::join(&self.base, path)?;
        let key = self.key.as_ref().ok_or_else(|| Error::NotLoggedIn { url: self.url().to_owned() })?;
        Ok(self.http.request(method, url).query(query).bearer_auth(key.expose()))
    }

    async fn read_data<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        Ok(self.read::<Envelope<T>>(request).await?.data)
    }

    async fn read<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let response = self.send(request.timeout(ANSWER_TIMEOUT)).await?;
        let bytes = response.bytes().await.map_err(|error| self.failed(&error))?;
        self.understand(&bytes).await
    }

    async fn understand<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T, Error> {
        match serde_json::from_slice(json) {
            Ok(read) => Ok(read),
            // A server of another age may well answer in another shape.
            Err(_) => Err(self.explain_strange_answer().await),
        }
    }

    #[boxed]
    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let refused = answer::refusal(self.url(), response).await;
        match &refused {
            Error::NotAServer { .. } => Err(self.explain_strange_answer().await),
            Error::Refused { code, .. } if matches!(code.as_str(), "route_not_found" | "method_not_allowed") => {
                Err(self.explain_strange_answer().await)
            }
            _ => Err(refused),
        }
    }

    fn failed(&self, error: &reqwest::Error) -> Error {
        let url = self.url().to_owned();
        match error.is_timeout() {
            true => Error::TimedOut { url },
            false => Error::Unreachable { url, cause: answer::cause(error) },
        }
    }

    async fn explain_strange_answer(&self) -> Error {
        let url = self.url().to_owned();
        match self.server_version().await {
            Some(server) if server == version::CLIENT => Error::NotUnderstood { url },
            Some(server) => Error::OtherVersion { server, client: version::CLIENT },
            None => Error::NotAServer { url },
        }
    }

    /// What the server says it is; none when it is no Wellspring.
    #[boxed]
    pub async fn server_version(&self) -> Option<String> {
        let url = self.base.join("v1/openapi.json").ok()?;
        let answer = self.http.get(url).timeout(CONNECT_TIMEOUT).send().await.ok()?;
        let document: Value = answer.error_for_status().ok()?.json().await.ok()?;
        version::of_document(&document)
    }
}

pub(crate) fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn parse_base(url: &str) -> Result<Url, Error> {
    let invalid = || Error::InvalidUrl { given: url.to_owned() };
    let trimmed = url.trim().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix("/v1").unwrap_or(trimmed);
    let parsed = Url::parse(&format!("{trimmed}/")).map_err(|_| invalid())?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() && parsed.query().is_none() && parsed.fragment().is_none() => Ok(parsed),
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests;
