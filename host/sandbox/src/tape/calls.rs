//! A recording for people: what a run asked its host, and what it was answered, in order.
//!
//! Credentials are named and never shown, and neither are queries, bodies and headers of requests. Where a credential occurs in
//! something that is shown, it is replaced.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Entry, Kind, next_entry, read_completion, read_text};

/// Of one answer that is shown.
const SHOWN_BYTES: usize = 2048;
/// Shorter texts occur by chance.
const HIDDEN_BYTES: usize = 4;
const HIDDEN: &str = "********";

/// One question of a run to its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// `time`, `elapsed`, `random`, `db`, `credentials`, `request` or `response`.
    pub kind: &'static str,
    pub asked: String,
    pub answer: String,
}

/// The calls of a recording. Questions that were answered with nothing yet are left out: a run asks them in a loop.
pub fn host_calls(recording: &Bytes) -> Vec<HostCall> {
    let mut rest = recording.slice(recording.len().min(1)..);
    let mut calls = Vec::new();
    let (mut requests, mut secrets): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    while let Some(entry) = next_entry(&mut rest) {
        if entry.kind == Kind::Credentials {
            secrets.extend(texts_of(&entry.answer));
        }
        if entry.kind == Kind::Fetch {
            requests.push(request_line(&entry.asked));
        }
        calls.extend(call(&entry, &requests));
    }
    for call in &mut calls {
        for secret in &secrets {
            for text in [&mut call.asked, &mut call.answer] {
                if text.contains(secret.as_str()) {
                    *text = text.replace(secret.as_str(), HIDDEN);
                }
            }
        }
    }
    calls
}

fn call(entry: &Entry, requests: &[String]) -> Option<HostCall> {
    let asked = String::from_utf8_lossy(&entry.asked).into_owned();
    let number = || f64::from_le_bytes(entry.answer.as_ref().try_into().unwrap_or_default());
    let (kind, asked, answer) = match entry.kind {
        Kind::Now => ("time", String::new(), format!("{:.0}", number())),
        Kind::Elapsed => ("elapsed", String::new(), format!("{:.1} ms", number())),
        Kind::Random => ("random", String::new(), format!("{} bytes", entry.answer.len())),
        Kind::DbGet => ("db", asked, read_text(&entry.answer).unwrap_or_else(|| "undefined".to_owned())),
        Kind::Credentials => ("credentials", asked, HIDDEN.to_owned()),
        Kind::Fetch => ("request", requests.last()?.clone(), format!("request {}", requests.len())),
        Kind::Completion => {
            let (case, request, payload) = read_completion(&entry.answer)?;
            let line = (request as usize).checked_sub(1).and_then(|at| requests.get(at)).cloned().unwrap_or_default();
            ("response", format!("request {request}: {line}"), completion(case, &payload)?)
        }
    };
    Some(HostCall { kind, asked, answer: cut(&answer).into_owned() })
}

/// In the order of `completion` in `wit/fetch.wit`; what was merely taken over is nothing to tell.
fn completion(case: u8, payload: &Bytes) -> Option<String> {
    let field = |name: &str| serde_json::from_slice::<serde_json::Value>(payload).ok()?.get(name).cloned();
    match case {
        0 => Some(format!("status {}", field("status")?)),
        1 => Some(String::from_utf8_lossy(payload).into_owned()),
        2 => Some("end".to_owned()),
        4 => Some(format!("failed: {}", field("message")?.as_str().unwrap_or_default())),
        _ => None,
    }
}

/// The method and the address of a request, up to its query.
fn request_line(asked: &Bytes) -> String {
    let asked = String::from_utf8_lossy(asked);
    let line = asked.lines().next().unwrap_or_default();
    line.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Every text in what `$auth` holds.
fn texts_of(answer: &Bytes) -> Vec<String> {
    fn gather(value: &serde_json::Value, texts: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) if text.len() >= HIDDEN_BYTES => texts.push(text.clone()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
            serde_json::Value::Object(fields) => fields.values().for_each(|value| gather(value, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    if let Some(value) = read_text(answer).and_then(|text| serde_json::from_str(&text).ok()) {
        gather(&value, &mut texts);
    }
    texts
}

fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=SHOWN_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let rest = text.len() - end;
    Cow::Owned(format!("{}… and {rest} bytes more", text.get(..end).unwrap_or_default()))
}
