//! What a run gave to `respond`, as a run by hand tells it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::ports::Reply;

#[derive(Debug, Serialize)]
pub struct ReplyView {
    pub status: u16,
    /// A name that comes several times has a list.
    pub headers: Map<String, Value>,
    /// As text, or as base64 when it is none.
    pub body: String,
    #[serde(skip_serializing_if = "is_false")]
    pub is_base64: bool,
}

// === impl ReplyView ===

impl From<Reply> for ReplyView {
    fn from(reply: Reply) -> Self {
        let mut headers = Map::new();
        for (name, value) in reply.headers {
            match headers.get_mut(&name) {
                None => {
                    headers.insert(name, json!(value));
                }
                Some(Value::Array(values)) => values.push(json!(value)),
                Some(first) => *first = json!([first.take(), value]),
            }
        }
        let (body, is_base64) = match std::str::from_utf8(&reply.body) {
            Ok(text) => (text.to_owned(), false),
            Err(_) => (STANDARD.encode(&reply.body), true),
        };
        Self { status: reply.status, headers, body, is_base64 }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
