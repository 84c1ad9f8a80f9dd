//! A received HTTP request as the event that `run` gets.
//!
//! Components read `method, path, query, headers, bodyRaw, body`, and `url` and `client_ip` besides. Nothing here
//! fails: a body that is not what its content type says stays the raw string, and the component decides.

mod multipart;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use url::form_urlencoded;

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
}

/// The event. `is_base64` is there only when `bodyRaw` had to be encoded, because its bytes are not text.
pub fn event(request: &Request<'_>) -> Value {
    let headers = headers(request.headers);
    let content_type = headers.get("content-type").and_then(Value::as_str).unwrap_or_default();
    let (body_raw, is_base64) = match std::str::from_utf8(request.body) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(request.body), true),
    };
    let body = parse_body(content_type, request.body).unwrap_or_else(|| Value::String(body_raw.clone()));
    let mut event = Map::new();
    event.insert("method".to_owned(), request.method.into());
    event.insert("path".to_owned(), request.path.into());
    event.insert("query".to_owned(), flat_object(request.query.as_bytes()));
    event.insert("headers".to_owned(), Value::Object(headers));
    event.insert("bodyRaw".to_owned(), body_raw.into());
    event.insert("body".to_owned(), body);
    event.insert("url".to_owned(), request.url.into());
    event.insert("client_ip".to_owned(), request.client_ip.into());
    if is_base64 {
        event.insert("is_base64".to_owned(), true.into());
    }
    Value::Object(event)
}

/// Plain lower-case keys. A header sent several times is joined as HTTP allows, so its value is always a string.
fn headers(received: &[(&str, &[u8])]) -> Map<String, Value> {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in received {
        let name = name.to_ascii_lowercase();
        // Cookies have their own separator: a comma may be part of a cookie.
        let separator = if name == "cookie" { "; " } else { ", " };
        let value = header_text(value);
        let joined = match headers.get(&name).and_then(Value::as_str) {
            Some(earlier) => format!("{earlier}{separator}{value}"),
            None => value,
        };
        headers.insert(name, joined.into());
    }
    headers
}

/// UTF-8 when it is, Latin-1 otherwise: every byte then still stands for something.
fn header_text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The body by its content type; none when it is of no known type or not what the type says.
fn parse_body(content_type: &str, body: &[u8]) -> Option<Value> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => std::str::from_utf8(body).ok().map(|text| flat_object(text.as_bytes())),
        "multipart/form-data" => multipart::parse(content_type, body),
        "application/json" | "text/json" => parse_json(body),
        other if other.ends_with("+json") => parse_json(body),
        _ => None,
    }
}

fn parse_json(body: &[u8]) -> Option<Value> {
    // Some senders mark UTF-8 with a byte order mark, which JSON does not know.
    serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).ok()
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
mod tests;
