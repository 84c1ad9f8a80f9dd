//! Parses what an action asked for through `$`: exports, an answer, the end of the workflow, data to be sent.
//!
//! The specification names the destinations and leaves their parameters open; they are chosen here:
//!
//! | call | parameters |
//! |---|---|
//! | `$.export(name, value)` | a name; not `$return_value`, which is the returned value's |
//! | `$.respond({status, headers, body})` | as `respond` of an HTTP interface |
//! | `$.flow.exit(reason)` | an optional text |
//! | `$.flow.delay(ms)`, `$.flow.suspend(ms)`, `$.flow.rerun(ms, context, maxRetries)` | a year at most |
//! | `$.send.http({url, method, headers, data})` | `url`; `method` is POST with `data` and GET without |
//! | `$.send.email({subject, text, html, to})` | `subject`, and `text` or `html`; `to` is the account's owner unless given |
//! | `$.send.s3({bucket, key, payload, auth})` | the first three; `prefix` instead of `key` leaves the name to the platform; `auth` is an app prop, or the account it is connected to |
//! | `$.send.emit(event, {id, name, summary, ts})` | as `$emit` of a source |
//! | `$.send.sse({channel, payload})` | both |

use serde_json::{Map, Value};

use crate::emit::{Emit, EmitError};
use crate::limits::Limits;
use crate::problem::{Problem, did_you_mean};
use crate::raw::Fields;
use crate::respond::{self, Body, Reply};
use crate::webhooks::WebhookUrl;
use crate::workflow::PauseKind;

/// Something to be done once the run is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Export { name: String, value: Value },
    Respond(Reply),
    Exit { reason: Option<String> },
    Pause(PauseAsked),
    Http(HttpSend),
    Email(Email),
    S3(S3Object),
    Emit(Emit),
    Sse { channel: String, payload: Value },
}

/// That the run goes on later.
#[derive(Clone, Debug, PartialEq)]
pub struct PauseAsked {
    pub kind: PauseKind,
    pub ms: u64,
    /// Of a rerun; beyond it the run goes on with the next step.
    pub retries_maximum: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSend {
    pub method: String,
    pub url: WebhookUrl,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// The account's owner when empty.
    pub to: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Object {
    pub bucket: String,
    pub name: ObjectName,
    pub payload: Vec<u8>,
    /// Whose keys it is stored with: the name of an app prop, or the id of its account. The operator's when absent.
    pub auth: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectName {
    Key(String),
    /// The platform adds the time and an id.
    Prefix(String),
}

const CALLS: [&str; 8] =
    ["export", "respond", "flow.exit", "send.http", "send.email", "send.s3", "send.emit", "send.sse"];
/// Object stores take 1024 bytes; a prefix leaves room for the time.
const OBJECT_NAME_BYTES: usize = 900;
/// A run that pauses for longer is a mistake in its unit.
const PAUSE_MS_MAXIMUM: f64 = 366.0 * 24.0 * 3600.0 * 1000.0;

/// Reads one call by its name without the `$.`, such as `send.http`, and its arguments.
pub fn parse(call: &str, arguments: &[Value], limits: &Limits) -> Result<Effect, Vec<Problem>> {
    let first = arguments.first().unwrap_or(&Value::Null);
    let second = arguments.get(1).unwrap_or(&Value::Null);
    match call {
        "export" => parse_export(first, second),
        "respond" => respond::parse(first, limits).map(Effect::Respond),
        "flow.exit" => parse_exit(first),
        "send.http" => parse_object(call, first, |fields| parse_http(fields).map(Effect::Http)),
        "send.email" => parse_object(call, first, |fields| parse_email(fields).map(Effect::Email)),
        "send.s3" => parse_object(call, first, |fields| parse_s3(fields).map(Effect::S3)),
        "send.sse" => parse_object(call, first, parse_sse),
        "send.emit" => match Emit::parse(first.clone(), second).and_then(|emit| emit.checked(limits)) {
            Ok(emit) => Ok(Effect::Emit(emit)),
            Err(error @ EmitError::Channel(_)) => Err(vec![Problem::new("$.send.emit.name", error.to_string())]),
            Err(error @ EmitError::Id { .. }) => Err(vec![Problem::new("$.send.emit.id", error.to_string())]),
        },
        unknown => {
            let hint = did_you_mean(unknown, CALLS);
            Err(vec![Problem::new(format!("$.{unknown}"), format!("there is no such function{hint}"))])
        }
    }
}

fn parse_export(name: &Value, value: &Value) -> Result<Effect, Vec<Problem>> {
    match name.as_str() {
        Some("$return_value") => {
            Err(vec![Problem::new("$.export", "`$return_value` is what the action returns, choose another name")])
        }
        // How the code around a step says that it pauses.
        Some("$pause") => parse_pause(value),
        Some(name) if !name.is_empty() => Ok(Effect::Export { name: name.to_owned(), value: value.clone() }),
        _ => Err(vec![Problem::new("$.export", "needs a name, as text")]),
    }
}

fn parse_exit(reason: &Value) -> Result<Effect, Vec<Problem>> {
    match reason {
        Value::Null => Ok(Effect::Exit { reason: None }),
        Value::String(reason) => Ok(Effect::Exit { reason: Some(reason.clone()) }),
        _ => Err(vec![Problem::new("$.flow.exit", "the reason must be text")]),
    }
}

fn parse_pause(parameters: &Value) -> Result<Effect, Vec<Problem>> {
    let call = parameters.get("kind").and_then(Value::as_str).unwrap_or_default();
    let path = || format!("$.flow.{call}");
    let kind = match call {
        "delay" => PauseKind::Delay,
        "suspend" => PauseKind::Suspend,
        "rerun" => PauseKind::Rerun { context: parameters.get("context").cloned().unwrap_or_default() },
        _ => return Err(vec![Problem::new(path(), "there is no such function")]),
    };
    let number = |name: &str| parameters.get(name).and_then(Value::as_f64);
    let ms = number("ms").filter(|ms| (0.0..=PAUSE_MS_MAXIMUM).contains(ms));
    let Some(ms) = ms else {
        return Err(vec![Problem::new(path(), "takes a number of milliseconds, at most a year")]);
    };
    let retries_maximum = number("max_retries").unwrap_or(0.0).clamp(0.0, f64::from(u32::MAX)) as u32;
    Ok(Effect::Pause(PauseAsked { kind, ms: ms as u64, retries_maximum }))
}

/// Reads the one object that a destination takes; what `read` notes as a problem wins over what it returns.
fn parse_object(
    call: &str,
    argument: &Value,
    read: impl FnOnce(&mut Fields<'_>) -> Option<Effect>,
) -> Result<Effect, Vec<Problem>> {
    let path = format!("$.{call}");
    let Value::Object(object) = argument else {
        return Err(vec![Problem::new(path, "takes an object")]);
    };
    let mut problems = Vec::new();
    let effect = read(&mut Fields::new(path, Map::clone(object), &mut problems));
    match effect {
        Some(effect) if problems.is_empty() => Ok(effect),
        _ => Err(problems),
    }
}

fn parse_http(fields: &mut Fields<'_>) -> Option<HttpSend> {
    let url = fields.required_text("url").and_then(|text| match WebhookUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(error) => {
            fields.problem("url", error.to_string());
            None
        }
    });
    let method = parse_method(fields);
    let mut headers = respond::parse_headers(fields);
    let body = parse_body(fields, "data")?;
    body.add_content_type(&mut headers);
    Some(HttpSend { method: method?, url: url?, headers, body: body.bytes })
}

fn parse_method(fields: &mut Fields<'_>) -> Option<String> {
    const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    if !fields.has("method") {
        let method = if fields.has("data") { "POST" } else { "GET" };
        return Some(method.to_owned());
    }
    let method = fields.text("method")?.to_ascii_uppercase();
    if METHODS.contains(&method.as_str()) {
        return Some(method);
    }
    fields.problem("method", format!("must be one of {}", METHODS.join(", ")));
    None
}

fn parse_email(fields: &mut Fields<'_>) -> Option<Email> {
    let subject = fields.required_text("subject");
    let (text, html) = (fields.text("text"), fields.text("html"));
    if text.is_none() && html.is_none() {
        fields.problem("text", "is required, or html");
    }
    let to = match fields.take("to") {
        None => Vec::new(),
        Some(Value::Array(addresses)) => addresses,
        Some(address) => vec![address],
    };
    let to: Option<Vec<String>> = to.iter().map(address).collect();
    if to.is_none() {
        fields.problem("to", "must be an e-mail address or a list of them");
    }
    // The subject becomes a header; a line break in it would start another.
    if subject.as_deref().is_some_and(|subject| subject.contains(char::is_control)) {
        fields.problem("subject", "must be one line");
    }
    Some(Email { subject: subject?, text, html, to: to? })
}

/// Only what a mail server would certainly refuse is refused here; whether an address exists shows when mail is sent.
fn address(value: &Value) -> Option<String> {
    let (user, host) = value.as_str()?.rsplit_once('@')?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    (is_plain(user) && is_plain(host)).then(|| format!("{user}@{host}"))
}

fn parse_s3(fields: &mut Fields<'_>) -> Option<S3Object> {
    let bucket = fields.required_text("bucket");
    let name = match (fields.text("key"), fields.text("prefix")) {
        (Some(key), None) if !key.is_empty() => Some(ObjectName::Key(key)),
        (None, Some(prefix)) => Some(ObjectName::Prefix(prefix)),
        _ => {
            fields.problem("key", "is required, or a prefix, and not both");
            None
        }
    };
    // Paths with such parts are shortened on their way, and would lead elsewhere.
    let is_relative = |text: &str| text.split('/').any(|part| matches!(part, "." | ".."));
    if let Some(ObjectName::Key(text) | ObjectName::Prefix(text)) = &name
        && (is_relative(text) || text.len() > OBJECT_NAME_BYTES)
    {
        fields.problem("key", format!("has at most {OBJECT_NAME_BYTES} bytes, and no parts `.` or `..`"));
    }
    if !fields.has("payload") {
        fields.problem("payload", "is required");
    }
    let auth = fields.text("auth");
    let payload = parse_body(fields, "payload")?.bytes;
    Some(S3Object { bucket: bucket?, name: name?, payload, auth })
}

fn parse_sse(fields: &mut Fields<'_>) -> Option<Effect> {
    let channel = fields.required_text("channel");
    let payload = fields.take("payload");
    if payload.is_none() {
        fields.problem("payload", "is required");
    }
    Some(Effect::Sse { channel: channel?, payload: payload? })
}

fn parse_body(fields: &mut Fields<'_>, name: &str) -> Option<Body> {
    let body = Body::parse(fields.take(name));
    if body.is_none() {
        fields.problem(name, "must be a string, an object or a buffer");
    }
    body
}

#[cfg(test)]
mod tests;
