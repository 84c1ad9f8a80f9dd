//! Sends requests: headers, hops, limits and the deadline around them all.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use admission::Scope;
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH},
    uri::Uri,
};
use http_body::Body as _;
use hyper::{body::Incoming, ext::ReasonPhrase};
use hyper_util::{
    client::legacy::{self, Client},
    rt::TokioTimer,
};
use lru::LruCache;
use metrics::Family;
use tokio::time::timeout_at;
use url::{Position, Url};

use crate::{
    body::{Deadline, Origin, ResponseBody},
    config::Config,
    connect::{self, Connector, Dial, Egress, TcpDial},
    decode,
    error::{Cause, Error, HeaderFault, Phase, UrlFault},
    headers,
    redirect::{self, Hop},
    request::{BodyError, Payload, Redirect, Request},
    tasks::Tasks,
};

/// hyper's smallest read buffer. Smaller header limits are kept by counting afterwards.
const MIN_BUFFER_BYTES: usize = 8192;

/// Kept-alive connections to one host.
const MAX_IDLE_PER_HOST: usize = 8;

/// Tenants whose unused connections are kept open; those of others are closed.
const TENANTS_HELD: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// The way out, for one tenant: tenants share no connection, and each has its share of them. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    inner: Arc<Inner>,
    tenant: Arc<str>,
}

pub struct Response {
    pub status: StatusCode,
    /// As the server wrote it; empty over HTTP/2, which has none.
    pub status_text: String,
    /// In the order received, duplicates kept (next to each other). `content-encoding` and `content-length` stay as
    /// received also when the body is decoded, as in `fetch`.
    pub headers: Vec<(String, Bytes)>,
    /// Where the answer came from: after redirects, with the fragment, without credentials.
    pub url: Url,
    pub is_redirected: bool,
    pub is_decoded: bool,
    pub body: ResponseBody,
}

struct Inner {
    config: Config,
    user_agent: HeaderValue,
    egress: Arc<Egress>,
    /// Each with connections of its own.
    clients: Mutex<LruCache<Arc<str>, Client<Connector, Payload>>>,
    tasks: Tasks,
}

/// What stays the same from hop to hop.
struct Terms {
    redirect: Redirect,
    decompress: bool,
    max_response_bytes: u64,
    max_request_bytes: u64,
    deadline: Deadline,
}

// === impl Outbound ===

impl Outbound {
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::with_dial(config, Arc::new(TcpDial))
    }

    pub(crate) fn with_dial(config: Config, dial: Arc<dyn Dial>) -> Result<Self, Error> {
        warn_of_dangers(&config);
        let user_agent = HeaderValue::try_from(&config.user_agent)
            .map_err(|_| Error::InvalidHeader { name: "user-agent".to_owned(), fault: HeaderFault::Value })?;
        let tasks = Tasks::default();
        let egress = Egress::new(&config, dial)?;
        let clients = Mutex::new(LruCache::new(TENANTS_HELD));
        Ok(Self { inner: Arc::new(Inner { config, user_agent, egress, clients, tasks }), tenant: "".into() })
    }

    /// The way out of a tenant.
    #[must_use]
    pub fn of_tenant(&self, tenant: &str) -> Self {
        Self { inner: self.inner.clone(), tenant: tenant.into() }
    }

    /// Connections and look-ups of all tenants.
    pub fn families(&self) -> Vec<Family> {
        self.inner.egress.families()
    }

    /// Resolves when the headers of the answer are there. Dropping the future, or later the body,
    /// ends the exchange.
    #[boxed]
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        let config = &self.inner.config;
        let after = request.total_timeout.unwrap_or(config.total_timeout);
        let terms = Terms {
            redirect: request.redirect,
            decompress: request.decompress,
            max_response_bytes: request.max_response_bytes.unwrap_or(config.max_response_bytes),
            max_request_bytes: request.max_request_bytes.unwrap_or(config.max_request_bytes),
            deadline: Deadline::start(after),
        };
        let hop = self.first_hop(request)?;
        timeout_at(terms.deadline.at, Box::pin(self.follow(hop, &terms)))
            .await
            .unwrap_or(Err(Error::Timeout { phase: Phase::Response, after }))
    }

    /// What can be said about a URL without connecting: that it is none, or that its port or its host, written as an
    /// address or as `localhost`, is refused. A name is not resolved: what counts is what it resolves to when a
    /// connection is made, and that is checked then.
    pub fn check(&self, url: &str) -> Result<(), Error> {
        connect::check_written(&self.inner.config, &self.tenant, &Request::get(url)?.url)
    }

    /// The decoded body of a GET that is answered with 200, redirects followed.
    pub async fn fetch_bytes(&self, url: &str, limit_bytes: u64) -> Result<Bytes, Error> {
        let mut request = Request::get(url)?;
        request.max_response_bytes = Some(limit_bytes);
        let response = self.send(request).await?;
        if response.status != StatusCode::OK {
            return Err(Error::UnexpectedStatus {
                url: response.url[..Position::AfterPath].to_owned(),
                status: response.status,
            });
        }
        response.body.collect(limit_bytes).await
    }

    /// Closes every connection, also those in use, and waits for their tasks. Later requests fail.
    pub async fn shutdown(&self) {
        self.inner.tasks.stop().await;
    }

    #[cfg(test)]
    pub(crate) fn open_tasks(&self) -> usize {
        self.inner.tasks.count()
    }

    fn first_hop(&self, request: Request) -> Result<Hop, Error> {
        let Request { method, mut url, headers: given, body, decompress, confidential, .. } = request;
        let Inner { config, user_agent, .. } = &*self.inner;
        let mut headers = headers::prepare(&given, &url, user_agent, decompress, config.max_header_bytes)?;
        headers::take_credentials(&mut url, &mut headers, false);
        let confidential = confidential.iter().filter_map(|name| name.parse().ok()).collect();
        Ok(Hop { method, url, headers, body, body_error: BodyError::default(), confidential })
    }

    async fn follow(&self, mut hop: Hop, terms: &Terms) -> Result<Response, Error> {
        let mut redirects: u32 = 0;
        loop {
            let response = self.exchange(&mut hop, terms).await?;
            let status = response.status();
            let target = match terms.redirect {
                Redirect::Manual => None,
                _ => redirect::location(status, response.headers(), &hop.url)?,
            };
            let Some(target) = target else {
                return Ok(finish(response, hop, redirects > 0, terms));
            };
            if terms.redirect == Redirect::Error {
                return Err(Error::RedirectRefused { status });
            }
            if redirects == self.inner.config.max_redirects {
                return Err(Error::TooManyRedirects { limit: redirects });
            }
            redirects += 1;
            hop.advance(status, target)?;
        }
    }

    /// One request and the head of its answer.
    async fn exchange(&self, hop: &mut Hop, terms: &Terms) -> Result<http::Response<Incoming>, Error> {
        if self.inner.tasks.is_stopped() {
            return Err(Error::ShutDown);
        }
        let request = wire_request(hop, terms.max_request_bytes)?;
        let limit_bytes = self.inner.config.max_header_bytes;
        let client = self.inner.client(&self.tenant);
        let response = client.request(request).await.map_err(|error| exchange_error(hop, error, limit_bytes))?;
        headers::check_size(response.headers(), limit_bytes)?;
        Ok(response)
    }
}

// === impl Inner ===

impl Inner {
    /// The client of a tenant, with the connections it has kept open. Those that are not used are closed when they stand
    /// in the way of a new one.
    fn client(&self, tenant: &Arc<str>) -> Client<Connector, Payload> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.egress.has_room(tenant) {
            match self.egress.short_of(tenant) {
                // Dropping a client closes what it does not use; exchanges under way go on.
                Scope::Tenant => drop(clients.pop(tenant)),
                Scope::Host => clients.clear(),
            }
        }
        let new =
            || build_client(&self.config, Connector::new(self.egress.clone(), tenant.clone()), self.tasks.clone());
        clients.get_or_insert(tenant.clone(), new).clone()
    }
}

fn build_client(config: &Config, connector: Connector, tasks: Tasks) -> Client<Connector, Payload> {
    Client::builder(tasks)
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(config.idle_timeout)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .http1_max_buf_size(config.max_header_bytes.max(MIN_BUFFER_BYTES))
        .http1_max_headers(headers::MAX_HEADERS)
        .http2_max_header_list_size(u32::try_from(config.max_header_bytes).unwrap_or(u32::MAX))
        .build(connector)
}

fn wire_request(hop: &mut Hop, max_request_bytes: u64) -> Result<http::Request<Payload>, Error> {
    let payload = hop.body.payload(max_request_bytes, &hop.body_error)?;
    let mut headers = hop.headers.clone();
    // Servers answer 411 to these without a length, and hyper writes none for nothing.
    let wants_length = [Method::POST, Method::PUT, Method::PATCH].contains(&hop.method);
    if wants_length && payload.size_hint().exact() == Some(0) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    if headers::authenticates_connection(&headers) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut request = http::Request::new(payload);
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = request_uri(&hop.url)?;
    *request.headers_mut() = headers;
    Ok(request)
}

fn finish(response: http::Response<Incoming>, hop: Hop, is_redirected: bool, terms: &Terms) -> Response {
    let (head, incoming) = response.into_parts();
    let codings = if terms.decompress { decode::codings(&head.headers) } else { Vec::new() };
    let limit_bytes = terms.max_response_bytes;
    let origin = Origin { host: host_of(&hop.url), body_error: hop.body_error };
    Response {
        status: head.status,
        status_text: status_text(&head),
        headers: header_list(&head.headers),
        url: hop.url,
        is_redirected,
        is_decoded: !codings.is_empty(),
        body: ResponseBody::new(incoming, origin, &codings, limit_bytes, terms.deadline),
    }
}

fn header_list(headers: &HeaderMap) -> Vec<(String, Bytes)> {
    let pair = |(name, value): (&http::HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes()))
    };
    headers.iter().map(pair).collect()
}

fn status_text(head: &http::response::Parts) -> String {
    if head.version == Version::HTTP_2 {
        return String::new();
    }
    match head.extensions.get::<ReasonPhrase>() {
        Some(phrase) => String::from_utf8_lossy(phrase.as_bytes()).into_owned(),
        None => head.status.canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// Everything but the fragment, which never leaves the client.
fn request_uri(url: &Url) -> Result<Uri, Error> {
    let invalid = |_| Error::InvalidUrl { url: host_of(url), fault: UrlFault::NotSendable };
    Uri::try_from(&url[..Position::AfterQuery]).map_err(invalid)
}

fn exchange_error(hop: &Hop, error: legacy::Error, limit_bytes: usize) -> Error {
    if let Some(own) = hop.body_error.get().or_else(|| Error::find_in(&error)) {
        return own.clone();
    }
    if hyper_error(&error).is_some_and(hyper::Error::is_parse_too_large) {
        return Error::HeadersTooLarge { limit_bytes };
    }
    Error::Protocol { host: host_of(&hop.url), cause: Cause::new(error) }
}

fn hyper_error(error: &legacy::Error) -> Option<&hyper::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn warn_of_dangers(config: &Config) {
    if config.dangerous_allow_private_networks {
        tracing::warn!("components may reach private networks and this machine (--dangerous-allow-private-networks)");
    }
    for item in &config.dangerous_host_overrides {
        tracing::warn!(host_override = %item, "requests are sent elsewhere in plain HTTP (--dangerous-host-override)");
    }
}

#[cfg(test)]
pub(crate) mod tests;
