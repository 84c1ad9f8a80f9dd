//! Parses the argument of `respond({status, headers, body})` before it reaches the client.

mod head;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::limits::Limits;
use crate::problem::Problem;
use crate::raw::{Fields, whole_number};
use head::{is_header_name, is_header_value, is_of_the_connection};

pub use head::{HEADER_BYTES_MAXIMUM, HEADERS_MAXIMUM, Head, HeadError, Origin, head};

/// An HTTP answer ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// Lower-case names; one that comes several times is sent several times.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Reads the argument of `respond`. A `content-type` that the component did not give follows from the body.
pub fn parse(argument: &Value, limits: &Limits) -> Result<Reply, Vec<Problem>> {
    let Value::Object(object) = argument else {
        return Err(vec![Problem::new("respond", "takes an object {status, headers, body}")]);
    };
    let mut problems = Vec::new();
    let mut fields = Fields::new("respond", object.clone(), &mut problems);
    let status = parse_status(&mut fields);
    let mut headers = parse_headers(&mut fields);
    let body = parse_body(&mut fields, limits);
    match (status, body) {
        (Some(status), Some(body)) if problems.is_empty() => {
            body.add_content_type(&mut headers);
            Ok(Reply { status, headers, body: body.bytes })
        }
        _ => Err(problems),
    }
}

/// A body in the form it is sent, and the type to send it as unless one is given.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    content_type: Option<&'static str>,
}

// === impl Body ===

impl Body {
    /// Text as it is, `{"$bytes": base64}` as its bytes, everything else as JSON; none when the base64 is broken.
    pub(crate) fn parse(value: Option<Value>) -> Option<Self> {
        let (bytes, content_type) = match value {
            None => (Vec::new(), None),
            Some(Value::String(text)) => (text.into_bytes(), Some("text/plain; charset=utf-8")),
            Some(value) => match value.get("$bytes") {
                Some(encoded) => (STANDARD.decode(encoded.as_str()?).ok()?, Some("application/octet-stream")),
                None => (value.to_string().into_bytes(), Some("application/json")),
            },
        };
        Some(Self { bytes, content_type })
    }

    pub(crate) fn add_content_type(&self, headers: &mut Vec<(String, String)>) {
        if let Some(content_type) = self.content_type
            && !headers.iter().any(|(name, _)| name == "content-type")
        {
            headers.push(("content-type".to_owned(), content_type.to_owned()));
        }
    }
}

fn parse_status(fields: &mut Fields<'_>) -> Option<u16> {
    let Some(value) = fields.take("status") else {
        fields.problem("status", "is required");
        return None;
    };
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        other => whole_number(other),
    };
    let status = number.and_then(|number| u16::try_from(number).ok()).filter(|status| (100..=599).contains(status));
    if status.is_none() {
        fields.problem("status", format!("must be an integer from 100 to 599, this is {value}"));
    }
    status
}

fn parse_body(fields: &mut Fields<'_>, limits: &Limits) -> Option<Body> {
    let body = Body::parse(fields.take("body"));
    let Some(body) = body else {
        fields.problem("body", "must be a string, an object or a buffer");
        return None;
    };
    let (size_bytes, limit) = (body.bytes.len(), limits.response_bytes);
    if size_bytes > limit {
        fields.problem("body", format!("has {size_bytes} bytes, the limit is {limit}"));
    }
    Some(body)
}

/// Key-value pairs; numbers and booleans as text, lists as repeated headers.
pub(crate) fn parse_headers(fields: &mut Fields<'_>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let given = match fields.take("headers") {
        None => return headers,
        Some(Value::Object(given)) => given,
        Some(_) => {
            fields.problem("headers", "must be an object of names and values");
            return headers;
        }
    };
    for (name, value) in given {
        let path = format!("headers.{name}");
        if !is_header_name(&name) {
            fields.problem(&path, "is not a valid header name");
            continue;
        }
        let name = name.to_ascii_lowercase();
        let values = match value {
            Value::Array(values) => values,
            Value::Null => continue,
            one => vec![one],
        };
        for value in values {
            match header_value(&value) {
                Some(value) if !is_of_the_connection(&name) => headers.push((name.clone(), value)),
                Some(_) => {}
                None => fields.problem(&path, "must be text without line breaks"),
            }
        }
    }
    headers
}

fn header_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    is_header_value(&text).then_some(text)
}

#[cfg(test)]
mod tests;
