//! The pages on which accounts are connected: `/connect/{token}`, and `/oauth/callback`, where providers send users back to.
//!
//! Plain documents without scripts, under a policy that allows none. Everything that was not written here is escaped: names
//! of apps and users, and above all what providers answer. A visit to a provider is bound to the browser by a cookie; no
//! address to go to is ever taken from a request. What a request holds (codes, states, credentials) is logged nowhere.

mod pages;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode};
use platform::manage::audit;
use platform::manage::connects::{self, Callback, ConnectProblem, Next};
use platform::records::{AuditEntry, Via};
use platform::{Caller, Platform, Secret};
use serde_json::Value;

use self::pages::Page;
use crate::api::parse_query;
use crate::body::{Body, Peer};
use crate::ingress::{TrustedProxy, client_ip};
use crate::plugin::Plugin;
use crate::route::Access;
use crate::session::{is_secure, pairs};

/// The template of its paths in logs, metrics and the table of routes.
pub(crate) const ROUTE: &str = "/connect/{token}";
const LINKS: &str = "/connect/";
const CALLBACK: &str = "/oauth/callback";

/// What binds a visit to a browser; sent with a navigation that another site leads to, which is what a provider does.
pub(crate) const SECURE_COOKIE: &str = "__Host-wellspring-connect";
pub(crate) const PLAIN_COOKIE: &str = "wellspring-connect";
const COOKIE_SECONDS: u64 = 15 * 60;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Fields of a form: keys and certificates fit.
const FORM_BYTES: usize = 256 << 10;
const FORM_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Connecting {
    platform: Platform,
    trusted_proxies: Vec<TrustedProxy>,
}

// === impl Connecting ===

impl Connecting {
    pub fn new(platform: Platform, trusted_proxies: Vec<TrustedProxy>) -> Self {
        Self { platform, trusted_proxies }
    }

    async fn show(&self, token: &Secret<String>) -> Response<Body> {
        match connects::open_link(&self.platform, token).await {
            Ok(link) => Page::form(&link, &[]).answer(StatusCode::OK),
            Err(problem) => self.fail(&problem),
        }
    }

    async fn submit(&self, token: &Secret<String>, head: &request::Parts, body: Body) -> Response<Body> {
        if !self.is_own_page(&head.headers) {
            return Page::foreign().answer(StatusCode::FORBIDDEN);
        }
        let Some(fields) = read_form(&head.headers, body).await else {
            return Page::malformed().answer(StatusCode::BAD_REQUEST);
        };
        match connects::begin(&self.platform, token, &fields, self.browser(&head.headers)).await {
            Ok(Next::Visit { url, app, browser }) => {
                let mut response = Page::leaving(&app, &url).answer(StatusCode::OK);
                if let Some(cookie) = self.cookie(&browser) {
                    response.headers_mut().append(SET_COOKIE, cookie);
                }
                response
            }
            Ok(Next::Connected { user, account, app, name }) => {
                self.audit(head, "POST /connect/{token}", user, account.to_string()).await;
                Page::connected(&app, &name).answer(StatusCode::OK)
            }
            Err(ConnectProblem::Fields(problems)) => match connects::open_link(&self.platform, token).await {
                Ok(link) => Page::form(&link, &problems).answer(StatusCode::UNPROCESSABLE_ENTITY),
                Err(problem) => self.fail(&problem),
            },
            Err(problem) => self.fail(&problem),
        }
    }

    async fn call_back(&self, head: &request::Parts) -> Response<Body> {
        let Ok(query) = parse_query(head.uri.query().unwrap_or_default()) else {
            return Page::malformed().answer(StatusCode::BAD_REQUEST);
        };
        let text = |name: &str| query.get(name).and_then(Value::as_str).map(str::to_owned);
        let secret = |name: &str| text(name).map(Secret::new);
        let callback = Callback {
            state: secret("state"),
            code: secret("code"),
            error: text("error"),
            error_description: text("error_description"),
            issuer: text("iss"),
            oauth_token: secret("oauth_token"),
            oauth_verifier: secret("oauth_verifier"),
            denied: text("denied"),
        };
        match connects::finish(&self.platform, &callback, self.browser(&head.headers).as_ref()).await {
            Ok(finished) => {
                self.audit(head, "GET /oauth/callback", finished.user, finished.account.to_string()).await;
                Page::connected(&finished.app, &finished.name).answer(StatusCode::OK)
            }
            Err(problem) => self.fail(&problem),
        }
    }

    fn fail(&self, problem: &ConnectProblem) -> Response<Body> {
        if let ConnectProblem::Failed(error) = problem {
            tracing::warn!(%error, "an account could not be connected");
        }
        let status = match problem {
            ConnectProblem::Link | ConnectProblem::State => StatusCode::GONE,
            ConnectProblem::Browser | ConnectProblem::Issuer => StatusCode::FORBIDDEN,
            ConnectProblem::Provider { .. } => StatusCode::BAD_GATEWAY,
            ConnectProblem::Failed(platform::Error::Store(_) | platform::Error::ReadOnly) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Page::problem(problem).answer(status)
    }

    /// A form is taken from the page of the link only: another site could otherwise send a browser to a provider that
    /// agrees without asking.
    fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let is_same_site = headers.get(SEC_FETCH_SITE).is_none_or(|site| site == "same-origin");
        let own = &self.platform.config().public_url;
        let is_same_origin = headers.get(ORIGIN).is_none_or(|origin| origin.as_bytes() == origin_of(own).as_bytes());
        // The browser's own word counts more: behind a proxy the origin may be written in another way.
        if headers.contains_key(SEC_FETCH_SITE) { is_same_site } else { is_same_origin }
    }

    fn browser(&self, headers: &HeaderMap) -> Option<Secret<String>> {
        let name = self.cookie_name();
        let is_ours = |value: &str| value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = pairs(headers).find(|(known, value)| *known == name && is_ours(value));
        found.map(|(_, value)| Secret::new(value.to_owned()))
    }

    fn cookie_name(&self) -> &'static str {
        if is_secure(&self.platform) { SECURE_COOKIE } else { PLAIN_COOKIE }
    }

    fn cookie(&self, browser: &Secret<String>) -> Option<HeaderValue> {
        let secure = if is_secure(&self.platform) { "; Secure" } else { "" };
        let (name, value) = (self.cookie_name(), browser.expose());
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={COOKIE_SECONDS}{secure}");
        let mut cookie = HeaderValue::try_from(text).ok()?;
        cookie.set_sensitive(true);
        Some(cookie)
    }

    async fn audit(&self, head: &request::Parts, action: &str, user: domain::ids::UserId, account: String) {
        let peer = head.extensions.get::<Peer>().map(|Peer(address)| address.ip());
        let from = peer.map(|peer| client_ip(peer, &head.headers, &self.trusted_proxies).to_string());
        let entry = AuditEntry {
            user_id: Some(user),
            username: None,
            via: Via::Link,
            action: action.to_owned(),
            ids: BTreeMap::from([("id".to_owned(), account)]),
            from,
            status: 200,
            request_id: None,
        };
        audit::record(&self.platform, &entry).await;
    }
}

#[async_trait]
impl Plugin for Connecting {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        let path = head.uri.path();
        (path == CALLBACK || path.starts_with(LINKS)).then_some(Access::Public)
    }

    fn route(&self) -> &'static str {
        ROUTE
    }

    fn changes(&self, head: &request::Parts) -> bool {
        !head.method.is_safe() || head.uri.path() == CALLBACK
    }

    async fn handle(&self, request: Request<Body>, _caller: Option<Caller>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let token = head.uri.path().strip_prefix(LINKS).map(|token| Secret::new(token.to_owned()));
        match (&head.method, token) {
            (&Method::GET | &Method::HEAD, Some(token)) => self.show(&token).await,
            (&Method::POST, Some(token)) => self.submit(&token, &head, body).await,
            // HEAD must not use up a state: programs that look at links send it.
            (&Method::GET, None) => self.call_back(&head).await,
            _ => Page::malformed().answer(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

/// The fields of a form; none when it is none, or too large.
async fn read_form(headers: &HeaderMap, body: Body) -> Option<BTreeMap<String, String>> {
    let is_form =
        headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let bytes = tokio::time::timeout(FORM_TIMEOUT, read_whole(body)).await.ok()??;
    if !is_form {
        return bytes.is_empty().then(BTreeMap::new);
    }
    let pairs = parse_query(std::str::from_utf8(&bytes).ok()?).ok()?;
    Some(pairs.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect())
}

/// None when it breaks off, or is too large.
async fn read_whole(mut body: Body) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > FORM_BYTES {
            return None;
        }
    }
    Some(bytes)
}

fn origin_of(url: &str) -> &str {
    let end = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
    url.get(..end).unwrap_or(url)
}

#[cfg(test)]
mod tests;
