//! Handles a request: find the route, authenticate, read the parameters, run the use case.

mod admit;
mod receive;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::trace::TraceContext;
use futures_util::future::BoxFuture;
use hyper::header::{CONNECTION, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::http::{HeaderName, request};
use hyper::{Method, Request, Response, StatusCode};
use platform::manage;
use platform::spans::{Answered, within};
use platform::watching::{Doing, watch};
use platform::{Caller, Error, Platform};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use self::receive::{Reserved, payer};
use crate::api::{Answer, Context, Parameters, Refusal, check_cursors, check_strict, parse_path, parse_query, refuse};
use crate::audit::Origin;
use crate::body::{Body, empty};
use crate::ingress::TrustedProxy;
use crate::metrics::Metrics;
use crate::plugin::Plugin;
use crate::route::{Access, RequestBody, Route};
use crate::session;
use crate::{docs, openapi, progress, routes};

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
            if self.platform().is_read_only() && plugin.changes(&head) {
                return ("plugin", self.refuse_error(Error::ReadOnly));
            }
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
        // Of `…/db/{key}` with an empty key, and of `…/db/..`, this is what clients make: it would change more than was meant.
        if head.uri.path().ends_with('/') && matches!(head.method, Method::PUT | Method::DELETE) {
            return Err(Refusal::NoName);
        }
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
        if self.platform().is_read_only() && !head.method.is_safe() {
            return Err(self.refuse_error(Error::ReadOnly));
        }
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
        if route.is_list() {
            check_cursors(&route.query, &query).map_err(|refusal| self.refuse(refusal))?;
        }
        let parameters = Parameters::new(query, of_the_body).map_err(|refusal| self.refuse(refusal))?;
        let fields = parameters.fields().map_err(|error| self.refuse_error(error))?;
        let body = body.unwrap_or(Value::Null);
        let tokens = session::tokens(&head.headers, self.platform());
        let sees_all = caller.as_ref().is_none_or(Caller::sees_endpoints);
        let context = Context { app: self.clone(), caller, path, parameters, body, tokens };
        let work = holding(held, self.audited(&route, &head, context));
        let platform = self.platform().clone();
        let work = async move {
            let answer = work.await?;
            Ok(if sees_all { answer } else { answer.without(&platform.addresses()) })
        };
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

async fn holding<Output>(held: Option<Reserved>, work: impl Future<Output = Output>) -> Output {
    let answered = work.await;
    drop(held);
    answered
}

/// The answer to a panic: the connection lives on.
pub(crate) fn broken() -> Response<Body> {
    refuse(Refusal::Broken, 0)
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
