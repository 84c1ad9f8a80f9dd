//! What the outside is answered.

use hyper::Response;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, VARY,
};
use hyper::http::{HeaderName, StatusCode};
use platform::flow::{Answer, Refusal};
use platform::ports::Reply;
use serde_json::json;

use crate::api::refuse;
use crate::body::{Body, empty, full};

pub(super) fn answered(answer: Answer) -> Response<Body> {
    match answer {
        Answer::Accepted => {
            let mut response = json_response(StatusCode::OK, json!({"success": true}).to_string());
            // Pages of any origin may post to an endpoint: its key is what protects it.
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            response
        }
        Answer::Replied(reply) => replied(reply),
    }
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
            (StatusCode::TOO_MANY_REQUESTS, "quota_used_up", Some(*retry_after_seconds))
        }
        Refusal::Overloaded { retry_after_seconds } => {
            (StatusCode::SERVICE_UNAVAILABLE, "overloaded", Some(*retry_after_seconds))
        }
        Refusal::NoResponse => (StatusCode::INTERNAL_SERVER_ERROR, "no_response", None),
        Refusal::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "timed_out", None),
        Refusal::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(1)),
    };
    let message = refusal.to_string();
    if let Refusal::Unavailable(error) = refusal {
        return refuse(error, now_ms);
    }
    let mut response = json_response(status, json!({"error": message, "code": code}).to_string());
    if let Some(seconds) = retry_after_seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn replied(reply: Reply) -> Response<Body> {
    let status = StatusCode::from_u16(reply.status).ok().filter(|status| !status.is_informational());
    let Some(status) = status else {
        // What announces a response is none, and nothing would follow.
        let message = format!("the source responded with status {}, which is not a final one", reply.status);
        let body = json!({"error": message, "code": "invalid_response"}).to_string();
        return json_response(StatusCode::INTERNAL_SERVER_ERROR, body);
    };
    let has_body = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let mut response = Response::new(if has_body { full(reply.body) } else { empty() });
    *response.status_mut() = status;
    for (name, value) in reply.headers {
        // They were checked when the component gave them; what is still not a header is left out.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn json_response(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
