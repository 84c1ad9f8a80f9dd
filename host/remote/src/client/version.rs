//! Which version a server is, when it matters: when it did not understand.

use serde_json::Value;

pub(super) const CLIENT: &str = env!("CARGO_PKG_VERSION");

/// Of the OpenAPI document of a Wellspring.
pub(super) fn of_document(document: &Value) -> Option<String> {
    let info = document.get("info")?;
    let is_ours = info.get("title").and_then(Value::as_str) == Some("Wellspring");
    is_ours.then(|| info.get("version").and_then(Value::as_str).unwrap_or("unknown").to_owned())
}
