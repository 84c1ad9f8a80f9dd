//! The endpoints of sources: `/e/<key>/…`, and `<key>.<domain>/…` where the operator has a wildcard domain.
//!
//! Translation only: whether a request may run, and what it is answered, is for the data plane to say. A request to an
//! endpoint that does not exist is refused before its body is read. A host that names an endpoint serves nothing else.

mod answer;
mod client;

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use domain::http_event;
use domain::json::Json;
use domain::respond::Origin;
use domain::trace::TraceContext;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST};
use hyper::http::request;
use hyper::{Method, Request, Response};
use platform::flow::{Admitted, Handle};
use platform::{Caller, Platform};

use crate::api::{Refusal, refuse};
use crate::body::{Body, Peer};
use crate::front::take_turns_of;
use crate::plugin::Plugin;
use crate::reading::{self, Coding};
use crate::route::Access;
use crate::session;

pub(crate) use client::client_ip;
pub use client::{ProxyError, TrustedProxy};

/// The template of its paths in logs, metrics and the table of routes.
pub(crate) const ROUTE: &str = "/e/{key}";

pub struct Ingress {
    platform: Platform,
    handle: Handle,
    config: Config,
}

#[derive(Clone, Debug)]
pub struct Config {
    /// Endpoints are also found at `<key>.<domain>`.
    pub wildcard_domain: Option<String>,
    /// From the head to the last byte of the body.
    pub body_timeout: Duration,
    /// Proxies whose `X-Forwarded-For` is trusted; none by default.
    pub trusted_proxies: Vec<TrustedProxy>,
}

/// Which endpoint a request is for, and how it looks from there.
struct Target<'a> {
    key: &'a str,
    path: &'a str,
    /// The host that names the endpoint; without one the path does.
    host: Option<&'a str>,
}

/// The body as the component gets it.
struct Content {
    bytes: Vec<u8>,
    /// What it was sent in.
    undone: Option<Coding>,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self { wildcard_domain: None, body_timeout: Duration::from_secs(30), trusted_proxies: Vec::new() }
    }
}

#[async_trait]
impl Plugin for Ingress {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        self.target(head).map(|_| Access::Public)
    }

    fn route(&self) -> &'static str {
        ROUTE
    }

    /// Whatever its method, it is an event.
    fn changes(&self, _head: &request::Parts) -> bool {
        true
    }

    async fn handle(&self, request: Request<Body>, _caller: Option<Caller>) -> Response<Body> {
        let (head, body) = request.into_parts();
        self.answer(&head, body).await.unwrap_or_else(|refused| refused)
    }
}

// === impl Ingress ===

impl Ingress {
    pub fn new(platform: Platform, handle: Handle, config: Config) -> Self {
        Self { platform, handle, config }
    }

    async fn answer(&self, head: &request::Parts, body: Body) -> Result<Response<Body>, Response<Body>> {
        let target = self.target(head).ok_or_else(|| self.refuse(Refusal::NoRoute))?;
        let now_ms = self.platform.clock().now_ms();
        let mut admitted = self.handle.admit(target.key).await.map_err(|refusal| answer::refused(refusal, now_ms))?;
        take_turns_of(admitted.tenant(), head);
        // Design: "OPTIONS answers CORS unless the component handles it".
        if head.method == Method::OPTIONS && !admitted.has_custom_response() {
            return Ok(answer::preflight(&head.headers));
        }
        if let Some(trace) = head.extensions.get::<TraceContext>() {
            admitted.continue_trace(*trace);
        }
        let content = self.read(head, body, &mut admitted).await.map_err(|refusal| self.refuse(refusal))?;
        let event = self.event(head, &target, &content, admitted.interface());
        let answered = self.handle.trigger(admitted, event).await;
        let answered = answered.map(|answer| answer::answered(answer, target.origin()));
        Ok(answered.unwrap_or_else(|refusal| answer::refused(refusal, now_ms)))
    }

    fn target<'a>(&self, head: &'a request::Parts) -> Option<Target<'a>> {
        self.target_by_host(head).or_else(|| {
            let rest = head.uri.path().strip_prefix("/e/")?;
            let (key, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            Some(Target { key, path: if path.is_empty() { "/" } else { path }, host: None })
        })
    }

    fn target_by_host<'a>(&self, head: &'a request::Parts) -> Option<Target<'a>> {
        let domain = self.config.wildcard_domain.as_deref()?;
        let host = head.uri.host().or_else(|| head.headers.get(HOST)?.to_str().ok())?;
        let name = host.split(':').next().unwrap_or_default();
        // Case is kept: keys tell upper from lower.
        let (key, rest) = name.split_once('.')?;
        rest.eq_ignore_ascii_case(domain).then_some(Target { key, path: head.uri.path(), host: Some(host) })
    }

    /// What the sender asked for, as it reaches this server.
    fn url(&self, head: &request::Parts, target: &Target<'_>) -> String {
        let public_url = self.platform.config().public_url.as_str();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        match target.host {
            None => format!("{public_url}{path}"),
            Some(host) => format!("{}://{host}{path}", public_url.split("://").next().unwrap_or("https")),
        }
    }

    async fn read(&self, head: &request::Parts, body: Body, admitted: &mut Admitted) -> Result<Content, Refusal> {
        let limit_bytes = self.platform.config().limits.body_bytes;
        let bounds = reading::Bounds { limit_bytes, timeout: self.config.body_timeout };
        let coding = if admitted.keeps_encoding() { None } else { reading::coding(&head.headers)? };
        let sent = reading::read(&head.headers, body, bounds, admitted.memory()).await?;
        let bytes = match coding {
            None => sent,
            Some(coding) => reading::decode(coding, &sent, limit_bytes, admitted.memory()).await?,
        };
        Ok(Content { bytes, undone: coding })
    }

    fn event(&self, head: &request::Parts, target: &Target<'_>, content: &Content, interface: &str) -> Json {
        let is_true = |name: &str| {
            // They speak of bytes that the component does not get.
            content.undone.is_none() || !(name == CONTENT_ENCODING.as_str() || name == CONTENT_LENGTH.as_str())
        };
        let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let headers = headers.filter(|(name, _)| is_true(name)).filter_map(|(name, value)| {
            let is_cookie = name == COOKIE.as_str();
            // A console that is signed in sends its session to the whole origin.
            let value = if is_cookie { session::without_session(value)?.into() } else { Cow::Borrowed(value) };
            Some((name, value))
        });
        let headers: Vec<(&str, Cow<'_, [u8]>)> = headers.collect();
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        let peer = head.extensions.get::<Peer>().map(|Peer(address)| address.ip());
        let client = peer.map(|peer| client_ip(peer, &head.headers, &self.config.trusted_proxies).to_string());
        http_event::event(&http_event::Request {
            method: head.method.as_str(),
            path: target.path,
            query: head.uri.query().unwrap_or_default(),
            headers: &headers,
            body: &content.bytes,
            url: &self.url(head, target),
            client_ip: client.as_deref().unwrap_or_default(),
            interface,
        })
    }

    fn refuse(&self, refusal: Refusal) -> Response<Body> {
        answer::readable_by_pages(refuse(refusal, self.platform.clock().now_ms()))
    }
}

// === impl Target ===

impl Target<'_> {
    fn origin(&self) -> Origin {
        if self.host.is_some() { Origin::Own } else { Origin::Shared }
    }
}

#[cfg(test)]
mod tests;
