//! The one mapping from what went wrong to HTTP. Codes are stable; messages are sentences for people.

use admission::{Full, Scope};
use domain::users::QuotaError;
use hyper::header::{ACCEPT_ENCODING, ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use platform::ports::{Fault, SandboxError};
use platform::{Error, KeyProblem};
use serde_json::{Value, json};

use super::answer::json_response;
use crate::body::Body;

/// A copy takes as long as it takes; a sender that asks again in half a minute loses little.
const READ_ONLY_SECONDS: u64 = 30;

/// What is refused before a use case is asked.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("no such route")]
    NoRoute,
    #[error("the path ends in a slash: the name that belongs there is missing")]
    NoName,
    #[error("this path does not support this method")]
    Method { allowed: String },
    #[error("a body must be JSON, and say so: Content-Type: application/json")]
    NotJsonType,
    #[error("the body has more than {limit_bytes} bytes")]
    TooLarge { limit_bytes: usize },
    #[error("{0}")]
    Full(Full),
    #[error("the body has more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the body did not arrive in time")]
    TooSlow,
    #[error("the body did not arrive whole")]
    BrokenOff,
    #[error("the content encoding of the body is not known: gzip, deflate and br are")]
    UnknownCoding,
    #[error("the body has several content encodings, send it with one at most")]
    StackedCodings,
    #[error("the body is not what its content encoding says: {message}")]
    MalformedCoding { message: String },
    #[error("the body is not JSON: {message}")]
    MalformedJson { message: String, line: usize, column: usize },
    #[error("the body must be a JSON object")]
    NotAnObject,
    #[error("the {part} is not percent-encoded UTF-8")]
    NotUtf8 { part: &'static str },
    #[error("there is no parameter `{name}` here{hint}")]
    UnknownParameter { name: String, hint: String },
    #[error("`{name}`: this list {how}")]
    NoCursor { name: &'static str, how: &'static str },
    #[error("`{name}`: must not be empty; leave it out to say nothing about it")]
    EmptyParameter { name: &'static str },
    #[error("internal error; it has been logged")]
    Broken,
}

pub(crate) enum ApiError {
    Refused(Refusal),
    Failed(Error),
}

struct ErrorBody {
    status: StatusCode,
    code: String,
    details: Value,
    retry_after_seconds: Option<u64>,
}

/// The answer to a request that was refused or failed.
pub(crate) fn refuse(error: impl Into<ApiError>, now_ms: u64) -> Response<Body> {
    match error.into() {
        ApiError::Refused(refusal) => refused(&refusal),
        ApiError::Failed(error) => failed(&error, now_ms),
    }
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let (status, code) = match refusal {
        Refusal::NoRoute => (StatusCode::NOT_FOUND, "route_not_found"),
        Refusal::NoName => (StatusCode::NOT_FOUND, "name_missing"),
        Refusal::Method { .. } => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        Refusal::NotJsonType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
        Refusal::TooLarge { .. } | Refusal::TooManyValues { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
        Refusal::Full(full) => full_status(*full),
        Refusal::TooSlow => (StatusCode::REQUEST_TIMEOUT, "request_timeout"),
        Refusal::BrokenOff => (StatusCode::BAD_REQUEST, "incomplete_body"),
        Refusal::UnknownCoding | Refusal::StackedCodings => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_encoding")
        }
        Refusal::MalformedCoding { .. } => (StatusCode::BAD_REQUEST, "malformed_content_encoding"),
        Refusal::MalformedJson { .. } => (StatusCode::BAD_REQUEST, "malformed_json"),
        Refusal::NotAnObject => (StatusCode::BAD_REQUEST, "not_an_object"),
        Refusal::NotUtf8 { .. } => (StatusCode::BAD_REQUEST, "invalid_utf8"),
        Refusal::UnknownParameter { .. } => (StatusCode::BAD_REQUEST, "unknown_parameter"),
        Refusal::EmptyParameter { .. } | Refusal::NoCursor { .. } => (StatusCode::BAD_REQUEST, "invalid_parameter"),
        Refusal::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    let details = match refusal {
        Refusal::MalformedJson { line, column, .. } => json!({"line": line, "column": column}),
        Refusal::UnknownParameter { name, .. } => json!({"parameter": name}),
        Refusal::EmptyParameter { name } | Refusal::NoCursor { name, .. } => json!({"parameter": name}),
        Refusal::Full(full) => full_details(*full),
        _ => Value::Null,
    };
    let mut response = envelope(status, &refusal.to_string(), code, details);
    match refusal {
        Refusal::Method { allowed } => set(&mut response, ALLOW, allowed),
        Refusal::Full(_) => set(&mut response, RETRY_AFTER, "1"),
        Refusal::UnknownCoding | Refusal::StackedCodings => set(&mut response, ACCEPT_ENCODING, "gzip, deflate, br"),
        _ => {}
    }
    response
}

fn failed(error: &Error, now_ms: u64) -> Response<Body> {
    let told = tell(error, now_ms);
    // That a server only reads is its operator's wish.
    if told.status.is_server_error() && !matches!(error, Error::ReadOnly) {
        // Once, here, with its causes; the caller is told only that it is not their fault.
        tracing::error!(error.code = told.code, error = %Causes(error), "a request failed");
    }
    let mut response = envelope(told.status, &error.to_string(), &told.code, told.details);
    if let Some(seconds) = told.retry_after_seconds {
        set(&mut response, RETRY_AFTER, &seconds.to_string());
    }
    // RFC 6750, section 3.
    match error {
        Error::Unauthenticated(_) => set(&mut response, WWW_AUTHENTICATE, "Bearer"),
        Error::Scope { needs } => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needs}\"");
            set(&mut response, WWW_AUTHENTICATE, &challenge);
        }
        _ => {}
    }
    response
}

fn code_of(problem: &KeyProblem) -> &'static str {
    match problem {
        KeyProblem::Unknown => "unauthenticated",
        KeyProblem::Mistyped => "mistyped_key",
        KeyProblem::Expired { .. } => "expired_key",
    }
}

/// The status of a failure, for the audit log.
pub(crate) fn status_of(error: &Error) -> u16 {
    tell(error, 0).status.as_u16()
}

fn tell(error: &Error, now_ms: u64) -> ErrorBody {
    let told = |status, code: &str| ErrorBody {
        status,
        code: code.to_owned(),
        details: Value::Null,
        retry_after_seconds: None,
    };
    let with = |status, code: &str, details| ErrorBody { details, ..told(status, code) };
    let unavailable =
        |code: &str| ErrorBody { retry_after_seconds: Some(1), ..told(StatusCode::SERVICE_UNAVAILABLE, code) };
    match error {
        Error::NotFound { noun, .. } => told(StatusCode::NOT_FOUND, &format!("{}_not_found", noun.as_snake_case())),
        Error::NoRecording { recording, .. } => {
            with(StatusCode::NOT_FOUND, "recording_not_found", json!({"recording": recording}))
        }
        Error::Missing { name } => with(StatusCode::BAD_REQUEST, "missing_parameter", json!({"parameter": name})),
        Error::MissingOneOf { names } => with(StatusCode::BAD_REQUEST, "missing_parameter", json!({"one_of": names})),
        Error::Parameter { name, .. } => with(StatusCode::BAD_REQUEST, "invalid_parameter", json!({"parameter": name})),
        Error::Unauthenticated(problem) => told(StatusCode::UNAUTHORIZED, code_of(problem)),
        Error::Scope { needs } => with(StatusCode::FORBIDDEN, "insufficient_scope", json!({"scope": needs})),
        Error::NotAdmin => told(StatusCode::FORBIDDEN, "admin_only"),
        Error::OwnRole => told(StatusCode::FORBIDDEN, "own_role"),
        Error::KeysGiven => told(StatusCode::CONFLICT, "keys_given"),
        Error::NotPaused { .. } => told(StatusCode::CONFLICT, "run_not_paused"),
        Error::KeyInUse => told(StatusCode::CONFLICT, "key_in_use"),
        Error::TooMany { noun, limit } => {
            with(StatusCode::FORBIDDEN, "limit_reached", json!({"of": noun.as_snake_case(), "limit": limit}))
        }
        Error::NoRoom { limit_bytes } => {
            with(StatusCode::FORBIDDEN, "limit_reached", json!({"of": "stored_bytes", "limit": limit_bytes}))
        }
        Error::Taken { noun, .. } => told(StatusCode::CONFLICT, &format!("{}_taken", noun.as_snake_case())),
        Error::Busy { noun, .. } => told(StatusCode::CONFLICT, &format!("{}_busy", noun.as_snake_case())),
        Error::InUse { noun, used_by, .. } => {
            let ids: Vec<&str> = used_by.iter().map(|user| user.id.as_str()).collect();
            with(StatusCode::CONFLICT, &format!("{}_in_use", noun.as_snake_case()), json!({"used_by": ids}))
        }
        Error::Changed | Error::Contended | Error::Held | Error::NoFreeName => told(StatusCode::CONFLICT, "conflict"),
        Error::Quota(quota) => {
            let wait_ms = u64::try_from(quota.resets_at_ms()).unwrap_or(0).saturating_sub(now_ms);
            let retry_after_seconds = Some(wait_ms.div_ceil(1000).max(1));
            ErrorBody { retry_after_seconds, ..told(StatusCode::TOO_MANY_REQUESTS, QuotaError::CODE) }
        }
        Error::QueueFull { .. } => {
            ErrorBody { retry_after_seconds: Some(1), ..told(StatusCode::TOO_MANY_REQUESTS, "queue_full") }
        }
        Error::Link(link) if link.is_unavailable => unavailable(link.code),
        Error::Full(full) | Error::Sandbox(SandboxError::Overloaded(full)) => told_full(*full),
        Error::Sandbox(SandboxError::Failed(_) | SandboxError::Unread(_)) => unavailable("sandbox_unavailable"),
        Error::DiskFull(_) => unavailable("disk_full"),
        Error::ReadOnly => ErrorBody { retry_after_seconds: Some(READ_ONLY_SECONDS), ..unavailable("read_only") },
        Error::Store(_) => unavailable("store_unavailable"),
        Error::Batch(_) | Error::Record(_) | Error::Vault(_) | Error::KeyFile(_) => unavailable("unavailable"),
        unprocessable => {
            let (code, details) = describe(unprocessable);
            with(StatusCode::UNPROCESSABLE_ENTITY, code, details)
        }
    }
}

/// Only the tenant that used up its share is told to slow down.
pub(crate) fn full_status(full: Full) -> (StatusCode, &'static str) {
    match full.scope {
        Scope::Tenant => (StatusCode::TOO_MANY_REQUESTS, "share_used_up"),
        Scope::Host => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
    }
}

pub(crate) fn full_details(full: Full) -> Value {
    json!({"limit": full.what})
}

fn told_full(full: Full) -> ErrorBody {
    let (status, code) = full_status(full);
    ErrorBody { status, code: code.to_owned(), details: full_details(full), retry_after_seconds: Some(1) }
}

/// Code that does not load, props that do not fit, a hook that threw: everything the author needs to mend it.
fn describe(error: &Error) -> (&'static str, Value) {
    match error {
        Error::Link(link) => (link.code, json!({"file": link.file, "line": link.line, "column": link.column})),
        Error::Fetch { url, .. } => ("component_not_fetched", json!({"url": url})),
        Error::Address { name, .. } => ("address_refused", json!({"parameter": name})),
        Error::Load(failure) => (
            "component_does_not_load",
            json!({
                "name": failure.name, "message": failure.message, "stack": failure.stack,
                "file": failure.file, "line": failure.line, "column": failure.column, "cause": failure.cause,
            }),
        ),
        Error::Component(problems) => {
            ("invalid_component", json!({"path": problems.first().map(|first| &first.path), "problems": problems}))
        }
        Error::Workflow(problems) => {
            ("invalid_workflow", json!({"path": problems.first().map(|first| &first.path), "problems": problems}))
        }
        Error::Provider(problems) => {
            ("invalid_app", json!({"path": problems.first().map(|first| &first.path), "problems": problems}))
        }
        Error::Fields(problems) => {
            ("invalid_fields", json!({"path": problems.first().map(|first| &first.path), "problems": problems}))
        }
        Error::NoClient { app } => ("client_not_configured", json!({"app": app})),
        Error::WrongFlow { app, .. } => ("wrong_flow", json!({"app": app})),
        Error::NotConnected { code, .. } => (code, Value::Null),
        Error::WrongKind { is, needs } => ("wrong_component_type", json!({"is": is, "needs": needs})),
        Error::Props(problems) => {
            ("invalid_props", json!({"path": problems.first().map(|first| &first.path), "problems": problems}))
        }
        Error::Hook { hook, fault } => {
            let mut details = fault_details(fault);
            if let Some(fields) = details.as_object_mut() {
                fields.insert("hook".to_owned(), json!(hook.as_str()));
            }
            ("hook_failed", details)
        }
        Error::Run(fault) => ("run_failed", fault_details(fault)),
        _ => ("unprocessable", Value::Null),
    }
}

fn fault_details(fault: &Fault) -> Value {
    let thrown = fault.thrown();
    json!({
        "fault": fault.code(), "message": fault.to_string(), "stack": fault.stack(),
        "file": thrown.map(|thrown| &thrown.file), "line": thrown.map(|thrown| thrown.line),
        "column": thrown.map(|thrown| thrown.column), "cause": thrown.map(|thrown| &thrown.cause),
    })
}

/// The body of every error, of the API, the endpoints and the front alike.
pub(crate) fn envelope(status: StatusCode, message: &str, code: &str, details: Value) -> Response<Body> {
    let mut body = json!({"error": message, "code": code});
    if let (Some(fields), false) = (body.as_object_mut(), details.is_null()) {
        fields.insert("details".to_owned(), details);
    }
    json_response(status, &body)
}

pub(crate) fn set(response: &mut Response<Body>, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// An error and what caused it, on one line.
struct Causes<'a>(&'a Error);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

// === impl ApiError ===

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
