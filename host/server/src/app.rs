//! Handles a request: find the route, authenticate, read the parameters, run the use case.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use admission::Taken;
use bytes::Bytes;
use domain::trace::TraceContext;
use futures_util::future::BoxFuture;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::{HeaderName, request};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use platform::manage;
use platform::manage::{keys, sessions};
use platform::spans::{Answered, within};
use platform::watching::{Doing, watch};
use platform::{Caller, Error, KeyProblem, Platform, Secret};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use crate::api::{
    Answer, Context, MAX_VALUES, Parameters, Refusal, check_strict, parse_body, parse_path, parse_query, refuse,
    values_at_most,
};
use crate::audit::Origin;
use crate::body::{Body, empty};
use crate::ingress::TrustedProxy;
use crate::metrics::Metrics;
use crate::operator_socket::Trusted;
use crate::plugin::Plugin;
use crate::route::{Access, RequestBody, Route};
use crate::session;
use crate::{docs, openapi, progress, reading, routes};

/// What an application is made of.
pub struct Parts {
    pub platform: Platform,
    pub plugins: Vec<Arc<dyn Plugin>>,
    pub metrics: Arc<Metrics>,
    pub limits: ApiLimits,
    /// Proxies whose `X-Forwarded-For` the audit log believes; none when empty.
    pub trusted_proxies: Vec<TrustedProxy>,
}

/// Bounds of one request to the API; plugins have their own.
#[derive(Clone, Copy, Debug)]
pub struct ApiLimits {
    pub body_bytes: usize,
    /// From the head to the last byte of the body.
    pub body_timeout: Duration,
}

pub struct App {
    parts: Parts,
    routes: Vec<Route>,
    pub(crate) openapi: Bytes,
    pub(crate) docs: Bytes,
    docs_policy: HeaderValue,
    /// Use cases under way: they end even when their client goes away, and shutdown waits for them.
    pub(crate) tasks: TaskTracker,
    pub(crate) is_draining: AtomicBool,
}

/// W3C Trace Context: the request belongs to a trace of the sender.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What a request holds of shared bounds while it is handled: memory, and one of the requests in flight.
type Reserved = [Taken; 2];

/// Bodies up to this size are read before anything is looked up, and parsed where they are read.
const SMALL_BODY_BYTES: usize = 64 << 10;

/// Found in the table: what to do, and with which parts of the path.
struct Found {
    route: Route,
    path: Vec<(&'static str, String)>,
}

// === impl ApiLimits ===

impl Default for ApiLimits {
    fn default() -> Self {
        // Code of a component may be 4 MiB, and JSON escapes can double it.
        Self { body_bytes: 10 << 20, body_timeout: Duration::from_secs(30) }
    }
}

// === impl App ===

impl App {
    pub fn new(parts: Parts) -> Arc<Self> {
        let routes = routes::table();
        let is_listed = |plugin: &Arc<dyn Plugin>| routes.iter().any(|route| route.path == plugin.route());
        debug_assert!(parts.plugins.iter().all(is_listed), "a plugin serves a route that the table does not list");
        let document = openapi::document();
        Arc::new(Self {
            openapi: document.to_string().into(),
            docs: docs::render(&openapi::whole_document()).into(),
            docs_policy: docs::policy(),
            parts,
            routes,
            tasks: TaskTracker::new(),
            is_draining: AtomicBool::new(false),
        })
    }

    /// From now on the server is not ready, and connections end after their next answer: what is sent elsewhere by then
    /// is not refused when it stops.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn platform(&self) -> &Platform {
        &self.parts.platform
    }

    pub(crate) fn trusted_proxies(&self) -> &[TrustedProxy] {
        &self.parts.trusted_proxies
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.parts.metrics
    }

    /// Never fails: everything that goes wrong is an answer. Boxed, because the layers above must see it is `Send`.
    pub(crate) fn handle(self: Arc<Self>, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(self.handle_counted(request))
    }

    #[expect(clippy::disallowed_methods, reason = "measures requests for the metrics")]
    async fn handle_counted(self: Arc<Self>, mut request: Request<Body>) -> Response<Body> {
        let started = Instant::now();
        let method = request.method().clone();
        let traceparent = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
        let span = self.platform().begin_request(traceparent);
        if let Some(span) = &span {
            request.extensions_mut().insert(span.context);
        }
        let (route, mut response) = self.clone().answer(request).await;
        if method == Method::HEAD {
            *response.body_mut() = empty();
        }
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if route == docs::ROUTE {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, self.docs_policy.clone());
        }
        if self.is_draining.load(Ordering::Relaxed) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let status = response.status().as_u16();
        let method = known_method(&method);
        self.metrics().answered(method, route, status, started.elapsed());
        if let Some(span) = &span {
            self.platform().end_request(span, &Answered { method, route, status });
        }
        response
    }

    /// The answer, and the route it came from for the metrics.
    async fn answer(self: Arc<Self>, request: Request<Body>) -> (&'static str, Response<Body>) {
        let (head, body) = request.into_parts();
        if let Some((plugin, access)) = self.plugin_for(&head) {
            note_route(plugin.route());
            let answered = match self.admit(access, &head, plugin.route()).await {
                Ok(caller) => {
                    watch(Doing::Route("plugin"), plugin.handle(Request::from_parts(head, body), caller)).await
                }
                Err(response) => response,
            };
            return ("plugin", answered);
        }
        match self.find(&head) {
            Ok(found) => {
                let path = found.route.path;
                note_route(path);
                let answered = watch(Doing::Route(path), self.call(found, head, body)).await;
                (path, answered.unwrap_or_else(|refused| refused))
            }
            Err(refusal) => ("none", self.refuse(refusal)),
        }
    }

    fn plugin_for(&self, head: &request::Parts) -> Option<(Arc<dyn Plugin>, Access)> {
        let claims = |plugin: &Arc<dyn Plugin>| Some((plugin.clone(), plugin.claims(head)?));
        self.parts.plugins.iter().find_map(claims)
    }

    fn find(&self, head: &request::Parts) -> Result<Found, Refusal> {
        let segments = parse_path(head.uri.path())?;
        let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
        let mut allowed: Vec<&str> = Vec::new();
        let mut template = None;
        for route in &self.routes {
            let Some(path) = route.matches(&segments) else {
                continue;
            };
            // A path that is spelled out comes first, and is never taken for the parameter of another.
            if *template.get_or_insert(route.path) != route.path {
                continue;
            }
            if route.method == method {
                return Ok(Found { route: route.clone(), path });
            }
            allowed.push(route.method.as_str());
        }
        if allowed.is_empty() {
            return Err(Refusal::NoRoute);
        }
        allowed.sort_unstable();
        allowed.dedup();
        Err(Refusal::Method { allowed: allowed.join(", ") })
    }

    async fn call(
        self: Arc<Self>,
        Found { route, path }: Found,
        head: request::Parts,
        body: Body,
    ) -> Result<Response<Body>, Response<Body>> {
        let caller = self.admit(route.access, &head, route.path).await?;
        let query = parse_query(head.uri.query().unwrap_or_default()).map_err(|refusal| self.refuse(refusal))?;
        self.check_first(&route, &head, caller.as_ref(), &path).await?;
        let (body, held) = match payer(&route, caller.as_ref(), &path) {
            Some(tenant) => match self.receive(&route, &head, body, tenant).await {
                Ok(received) => received,
                Err(refusal) => {
                    let response = self.refuse(refusal);
                    if let (StatusCode::TOO_MANY_REQUESTS, Some(caller)) = (response.status(), &caller) {
                        Origin::new(&self, &head, route.path).by(caller).end(self.platform(), 429).await;
                    }
                    return Err(response);
                }
            },
            None => (None, None),
        };
        let body = if head.method == Method::GET || head.method == Method::HEAD { None } else { body };
        let of_the_body = body.as_ref().filter(|_| !matches!(route.body, RequestBody::Any));
        if route.is_strict() {
            check_strict(&route.query, &query, of_the_body).map_err(|refusal| self.refuse(refusal))?;
        }
        let parameters = Parameters::new(query, of_the_body).map_err(|refusal| self.refuse(refusal))?;
        let fields = parameters.fields().map_err(|error| self.refuse_error(error))?;
        let body = body.unwrap_or(Value::Null);
        let tokens = session::tokens(&head.headers, self.platform());
        let context = Context { app: self.clone(), caller, path, parameters, body, tokens };
        let work = holding(held, self.audited(&route, &head, context));
        let work: BoxFuture<'static, _> = match head.extensions.get::<TraceContext>() {
            Some(trace) => Box::pin(within(*trace, work)),
            None => Box::pin(work),
        };
        if !head.method.is_safe() && progress::is_wanted(&head.headers) {
            return Ok(progress::follow(&self, work, fields));
        }
        // On a task of its own: a deploy whose client goes away is finished, not left half-way.
        let answered = self.tasks.spawn(watch(Doing::Route(route.path), work)).await;
        match answered {
            Ok(Ok(answer)) => Ok(answer.into_response(&fields)),
            Ok(Err(error)) => Err(self.refuse_error(error)),
            Err(_) => Err(self.refuse(Refusal::Broken)),
        }
    }

    /// The use case, recorded in the audit log when it changes something.
    fn audited(
        self: &Arc<Self>,
        route: &Route,
        head: &request::Parts,
        context: Context,
    ) -> BoxFuture<'static, Result<Answer, Error>> {
        let auditing = context
            .caller
            .as_ref()
            .filter(|_| route.is_audited)
            .map(|caller| Origin::new(self, head, route.path).by(caller).about(&context.path, &context.parameters));
        let work = (route.handler)(context);
        match auditing {
            Some(auditing) => Box::pin(auditing.around(self.clone(), work)),
            None => work,
        }
    }

    /// Lets a request in, or answers 401 or 403.
    async fn admit(
        &self,
        access: Access,
        head: &request::Parts,
        template: &str,
    ) -> Result<Option<Caller>, Response<Body>> {
        let Access::Key(scope) = access else {
            return Ok(None);
        };
        let (caller, error) = match self.authenticate(head, template).await {
            Ok(caller) => match caller.require(scope) {
                Ok(()) => return Ok(Some(caller)),
                Err(error) => (Some(caller), error),
            },
            Err(error) => (None, error),
        };
        Origin::new(self, head, template).refused(self.platform(), caller.as_ref(), &error).await;
        Err(self.refuse_error(error))
    }

    /// Before a large body is read: whether what the path names is there.
    async fn check_first(
        self: &Arc<Self>,
        route: &Route,
        head: &request::Parts,
        caller: Option<&Caller>,
        path: &[(&'static str, String)],
    ) -> Result<(), Response<Body>> {
        let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let is_small = announced.is_some_and(|bytes| bytes <= SMALL_BODY_BYTES);
        // Without a caller it is all that tells whose share the body takes.
        let Some(first) = route.first.as_ref().filter(|_| !is_small || caller.is_none()) else { return Ok(()) };
        let (caller, path) = (caller.cloned(), path.to_vec());
        let (parameters, body, tokens) = (Parameters::default(), Value::Null, Vec::new());
        let context = Context { app: self.clone(), caller, path, parameters, body, tokens };
        first(context).await.map(drop).map_err(|error| self.refuse_error(error))
    }

    /// The body of a request to the API, and what it holds until it is answered.
    async fn receive(
        &self,
        route: &Route,
        head: &request::Parts,
        body: Body,
        tenant: &str,
    ) -> Result<(Option<Value>, Option<Reserved>), Refusal> {
        let pools = self.platform().pools();
        let mut memory = pools.request_bytes(tenant).map_err(Refusal::Full)?;
        let body = self.read(&head.headers, body, route.body_bytes(self.parts.limits.body_bytes), &mut memory).await?;
        let place = pools.request(tenant).map_err(Refusal::Full)?;
        Ok((body, Some([memory, place])))
    }

    /// By the operator's socket, a key, a one-time link where sessions begin, or the cookie of a session, in this order.
    async fn authenticate(&self, head: &request::Parts, template: &str) -> Result<Caller, Error> {
        if let Some(Trusted(caller)) = head.extensions.get() {
            return Ok(caller.clone());
        }
        if let Some(key) = presented_key(&head.headers) {
            let is_link = key.expose().starts_with(sessions::LINK_PREFIX) && template == routes::SESSIONS;
            return match is_link && head.method == Method::POST {
                true => sessions::redeem(self.platform(), &key).await,
                false => keys::authenticate(self.platform(), &key).await,
            };
        }
        match session::presented(head, self.platform()) {
            Some(token) => sessions::authenticate(self.platform(), &token).await,
            None => Err(KeyProblem::Unknown.into()),
        }
    }

    /// The JSON body, when there is one.
    async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit_bytes: usize,
        memory: &mut Taken,
    ) -> Result<Option<Value>, Refusal> {
        /// What a value takes beside its text.
        const VALUE_BYTES: usize = 64;
        let timeout = self.parts.limits.body_timeout;
        let coding = reading::coding(headers)?;
        let mut bytes = reading::read(headers, body, reading::Bounds { limit_bytes, timeout }, memory).await?;
        if !bytes.is_empty() && !is_json(headers) {
            return Err(Refusal::NotJsonType);
        }
        if let Some(coding) = coding {
            bytes = reading::decode(coding, &bytes, limit_bytes, memory).await?;
        }
        if bytes.len() <= SMALL_BODY_BYTES {
            return parse_body(&bytes);
        }
        memory.grow((values_at_most(&bytes).min(MAX_VALUES) * VALUE_BYTES) as u64).map_err(Refusal::Full)?;
        // Milliseconds of work, in which a worker would answer a hundred other requests.
        let parsed = tokio::task::spawn_blocking(move || parse_body(&bytes)).await;
        parsed.unwrap_or(Err(Refusal::Broken))
    }

    fn refuse(&self, refusal: Refusal) -> Response<Body> {
        refuse(refusal, self.platform().clock().now_ms())
    }

    pub(crate) fn refuse_error(&self, error: Error) -> Response<Body> {
        refuse(error, self.platform().clock().now_ms())
    }

    /// Why no new work should be sent here.
    pub(crate) async fn why_unready(&self) -> Option<String> {
        /// A load balancer asks every few seconds.
        const PATIENCE: Duration = Duration::from_millis(1900);
        if self.is_draining.load(Ordering::Relaxed) {
            return Some("the server is about to stop".to_owned());
        }
        match tokio::time::timeout(PATIENCE, manage::health::check_store(self.platform())).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the store does not answer".to_owned()),
        }
    }
}

/// The tenant whose share a body takes: the caller's, or on a public route that takes a body the one that its path names.
fn payer<'a>(route: &Route, caller: Option<&'a Caller>, path: &'a [(&'static str, String)]) -> Option<&'a str> {
    let named = || {
        let is_checked = route.first.is_some() && matches!(route.body, RequestBody::Any);
        path.iter().find(|(name, _)| is_checked && *name == "user_id").map(|(_, value)| value.as_str())
    };
    caller.map(|caller| caller.tenant.as_str()).or_else(named)
}

async fn holding<Output>(held: Option<Reserved>, work: impl Future<Output = Output>) -> Output {
    let answered = work.await;
    drop(held);
    answered
}

/// The answer to a panic: the connection lives on.
pub(crate) fn broken() -> Response<Body> {
    refuse(Refusal::Broken, 0)
}

fn presented_key(headers: &HeaderMap) -> Option<Secret<String>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then(|| Secret::new(key.to_owned()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Methods are the client's text: only known ones become a label of the metrics, so that their number is bounded.
fn known_method(method: &Method) -> &'static str {
    const KNOWN: [Method; 7] =
        [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS, Method::PATCH];
    const NAMES: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.iter().zip(NAMES).find(|(known, _)| *known == method).map_or("other", |(_, name)| name)
}

/// In the span of the request: what it was for, without what the client wrote.
fn note_route(template: &str) {
    tracing::Span::current().record("http.route", template);
}
