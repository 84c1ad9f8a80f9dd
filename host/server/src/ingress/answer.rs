//! Responses of endpoints.

use domain::respond::{self, Origin};
use domain::users::QuotaError;
use hyper::Response;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, HeaderMap, HeaderValue, RETRY_AFTER, VARY,
};
use hyper::http::{HeaderName, StatusCode};
use platform::flow::{Answer, Answered, Refusal};
use platform::ports::Reply;
use serde_json::{Value, json};

use crate::api::{envelope, full_details, full_status, json_response, refuse, set};
use crate::body::{Body, empty, full};

/// Names the run that answered, so that its record can be looked up.
const RUN: HeaderName = HeaderName::from_static("x-wellspring-run");

pub(super) fn answered(answered: Answered, origin: Origin) -> Response<Body> {
    let mut response = match answered.answer {
        Answer::Accepted => readable_by_pages(json_response(StatusCode::OK, &json!({"success": true}))),
        Answer::Replied(reply) => replied(reply, origin),
    };
    set(&mut response, RUN, answered.run_id.as_str());
    response
}

/// Pages of any origin may post to an endpoint, and see how that went: its key is what protects it.
pub(super) fn readable_by_pages(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// A preflight is allowed whatever it asks for.
pub(super) fn preflight(asked: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let wanted = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or(HeaderValue::from_static("*"));
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    headers.insert(VARY, HeaderValue::from_static("access-control-request-headers"));
    response
}

pub(super) fn refused(refusal: Refusal, now_ms: u64) -> Response<Body> {
    let (status, code, retry_after_seconds) = match &refusal {
        Refusal::NotFound => (StatusCode::NOT_FOUND, "endpoint_not_found", None),
        Refusal::TooManyRequests { retry_after_seconds } => {
            (StatusCode::TOO_MANY_REQUESTS, "too_many_requests", Some(*retry_after_seconds))
        }
        Refusal::OverQuota { retry_after_seconds, .. } => {
            (StatusCode::TOO_MANY_REQUESTS, QuotaError::CODE, Some(*retry_after_seconds))
        }
        Refusal::Full(full) => {
            let (status, code) = full_status(*full);
            (status, code, Some(1))
        }
        Refusal::Overloaded { retry_after_seconds } => {
            (StatusCode::SERVICE_UNAVAILABLE, "overloaded", Some(*retry_after_seconds))
        }
        Refusal::NoResponse { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "no_response", None),
        Refusal::NotResponded { .. } => (StatusCode::BAD_REQUEST, "not_responded", None),
        Refusal::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, "timed_out", None),
        Refusal::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(1)),
    };
    let message = refusal.to_string();
    if let Refusal::Unavailable(error) = refusal {
        return readable_by_pages(refuse(error, now_ms));
    }
    let details = if let Refusal::Full(full) = refusal { full_details(full) } else { Value::Null };
    let mut response = envelope(status, &message, code, details);
    if let Refusal::NoResponse { run_id } | Refusal::NotResponded { run_id } | Refusal::TimedOut { run_id } = &refusal {
        set(&mut response, RUN, run_id.as_str());
    }
    if let Some(seconds) = retry_after_seconds {
        set(&mut response, RETRY_AFTER, &seconds.to_string());
    }
    readable_by_pages(response)
}

/// The one place where what a component replied becomes an answer; what may leave is for the domain to say.
fn replied(reply: Reply, origin: Origin) -> Response<Body> {
    let head = match respond::head(reply.status, reply.headers, origin) {
        Ok(head) => head,
        Err(error) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return readable_by_pages(envelope(status, &error.to_string(), "invalid_response", Value::Null));
        }
    };
    let mut response = Response::new(if head.has_body { full(reply.body) } else { empty() });
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}
