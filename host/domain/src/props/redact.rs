//! Secret values: which they are, what stands in for them, and how that stand-in comes back.

use serde_json::{Map, Value};

use super::definition::PropDefinition;

/// What the API shows instead of a secret value.
pub const REDACTED: &str = "********";

pub fn secret_names(definitions: &[PropDefinition]) -> impl Iterator<Item = &str> {
    definitions.iter().filter(|definition| definition.is_secret).map(|definition| definition.name.as_str())
}

/// The values as they may be shown; a secret that is not set stays absent.
pub fn redact(definitions: &[PropDefinition], values: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = values.clone();
    for name in secret_names(definitions) {
        if let Some(value) = shown.get_mut(name) {
            *value = Value::String(REDACTED.to_owned());
        }
    }
    shown
}

/// A client that reads a source and sends its props back sends the placeholder: it means "unchanged", never a new secret.
pub fn restore_redacted(definitions: &[PropDefinition], given: &mut Map<String, Value>, kept: &Map<String, Value>) {
    for name in secret_names(definitions) {
        let is_stand_in = given.get(name).and_then(Value::as_str) == Some(REDACTED);
        if is_stand_in && let Some(secret) = kept.get(name) {
            given.insert(name.to_owned(), secret.clone());
        }
    }
}
