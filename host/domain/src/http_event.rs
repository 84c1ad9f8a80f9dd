//! A received HTTP request as the event that `run` gets.
//!
//! Components read `method, path, query, headers, bodyRaw, body`, and `url`, `client_ip` and `interface` besides. Nothing here
//! fails: a body that is not what its content type says stays the raw string, `body_error` says why, which the guest
//! also writes into the log of the run, and the component decides.

mod multipart;

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::json::{Json, JsonFault};
use crate::limits::NESTING_MAXIMUM;

/// What the server knows about a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Without the question mark.
    pub query: &'a str,
    /// In the order received; names in any case.
    pub headers: &'a [(&'a str, &'a [u8])],
    pub body: &'a [u8],
    pub url: &'a str,
    pub client_ip: &'a str,
    /// The prop whose endpoint the request was sent to.
    pub interface: &'a str,
}

/// The event. `is_base64` is there only when `bodyRaw` had to be encoded, because its bytes are not text. Its JSON is no
/// larger than [`limits::event_bytes_for`](crate::limits::event_bytes_for) the body, also when a component emits it.
pub fn event(request: &Request<'_>) -> Json {
    let headers = headers(request.headers);
    let content_type = headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, value)| value.as_ref());
    let (body_raw, is_base64) = match as_text(request.body) {
        Some(text) => (Cow::Borrowed(text), None),
        None => (Cow::Owned(STANDARD.encode(request.body)), Some(true)),
    };
    let (body, body_error) = match parse_body(content_type, request.body) {
        Ok(body) => (body.unwrap_or(Body::Text(&body_raw)), None),
        Err(fault) => (Body::Text(&body_raw), Some(fault.to_string())),
    };
    let event = Event {
        method: request.method,
        path: request.path,
        query: flat_object(request.query.as_bytes()),
        headers: &headers,
        body_raw: &body_raw,
        body,
        body_error,
        url: request.url,
        client_ip: request.client_ip,
        interface: request.interface,
        is_base64,
    };
    // Texts, and JSON that was parsed, always have a JSON form.
    serde_json::value::to_raw_value(&event).map_or_else(|_| Value::Null.into(), Json::from)
}

/// The fields as components read them.
#[derive(Serialize)]
struct Event<'a> {
    method: &'a str,
    path: &'a str,
    query: Value,
    #[serde(serialize_with = "as_object")]
    headers: &'a [(Cow<'a, str>, Cow<'a, str>)],
    #[serde(rename = "bodyRaw")]
    body_raw: &'a str,
    body: Body<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_error: Option<String>,
    url: &'a str,
    client_ip: &'a str,
    interface: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_base64: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Text(&'a str),
    /// As it was sent, digit for digit.
    Json(&'a RawValue),
    Fields(Value),
}

fn as_object<S: Serializer>(headers: &[(Cow<'_, str>, Cow<'_, str>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.iter().map(|(name, value)| (name, value)))
}

/// Plain lower-case names. A header sent several times is joined as HTTP allows, so its value is always a string.
fn headers<'a>(received: &[(&'a str, &'a [u8])]) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let mut headers: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::with_capacity(received.len());
    for (name, value) in received {
        let is_lower_case = !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let name = if is_lower_case { Cow::Borrowed(*name) } else { Cow::Owned(name.to_ascii_lowercase()) };
        let value = header_text(value);
        match headers.iter_mut().find(|(known, _)| *known == name) {
            // Cookies have their own separator: a comma may be part of a cookie.
            Some((_, joined)) => {
                let separator = if name == "cookie" { "; " } else { ", " };
                joined.to_mut().push_str(&format!("{separator}{value}"));
            }
            None => headers.push((name, value)),
        }
    }
    headers
}

/// UTF-8 when it is, Latin-1 otherwise: every byte then still stands for something.
fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Why a body is not what its content type says.
#[derive(Debug, thiserror::Error)]
enum BodyFault {
    #[error(
        "the request's body is not the JSON that its content type says it is: {0}; event.body is the text as it came"
    )]
    Json(JsonFault),
    #[error(
        "the request's body is not the form that its content type says it is: {0}; event.body is the text as it came"
    )]
    Form(&'static str),
}

/// The body by its content type; none when it is of no known type.
fn parse_body<'a>(content_type: &str, body: &'a [u8]) -> Result<Option<Body<'a>>, BodyFault> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => match as_text(body) {
            Some(text) => Ok(Some(Body::Fields(flat_object(text.as_bytes())))),
            None => Err(BodyFault::Form("it is not text")),
        },
        // Requests without a body often have the content type of those with one.
        _ if body.is_empty() => Ok(None),
        "multipart/form-data" => match multipart::parse(content_type, body) {
            Some(fields) => Ok(Some(Body::Fields(fields))),
            None => Err(BodyFault::Form("its parts cannot be told apart")),
        },
        "application/json" | "text/json" => parse_json(body).map(Some),
        other if other.ends_with("+json") => parse_json(body).map(Some),
        _ => Ok(None),
    }
}

fn parse_json(body: &[u8]) -> Result<Body<'_>, BodyFault> {
    // Some senders mark UTF-8 with a byte order mark, which JSON does not know.
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    // One level less than events may have: it becomes a field of one.
    Json::parse(text, NESTING_MAXIMUM - 1).map(Body::Json).map_err(BodyFault::Json)
}

/// Bytes that are text. Those that are UTF-8 by accident, such as a file of zeros, are not: as JSON they would be written
/// with six characters for each, and a request within its limit could not be emitted within that of events.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let escaped = bytes.iter().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..32 => 5,
        _ => 0_usize,
    });
    std::str::from_utf8(bytes).ok().filter(|_| escaped.sum::<usize>() <= bytes.len())
}

/// A flat object with literal keys (`contact[id]` stays that); a key that comes again makes a list.
fn flat_object(encoded: &[u8]) -> Value {
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(encoded) {
        add(&mut fields, name.into_owned(), Value::String(value.into_owned()));
    }
    Value::Object(fields)
}

fn add(fields: &mut Map<String, Value>, name: String, value: Value) {
    match fields.get_mut(&name) {
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
        None => {
            fields.insert(name, value);
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
