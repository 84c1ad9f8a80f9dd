//! Events in a list: whole up to a size, and beyond it a sketch of the same shape.

use serde_json::{Map, Value};

/// Spec, Limits: "over 1KB may be truncated".
pub const EVENT_BYTES_MAXIMUM: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Truncated {
    pub event: Value,
    pub is_truncated: bool,
}

/// Cuts strings, lists, objects and depth harder and harder until the whole fits as JSON. The type at the top never
/// changes, and what is left inside has the type it had.
pub fn truncate(event: &Value) -> Truncated {
    if size_bytes(event) <= EVENT_BYTES_MAXIMUM {
        return Truncated { event: event.clone(), is_truncated: false };
    }
    let cut = (0..STEPS).map(|step| Cut::at(step).value(event, 0)).find(|cut| size_bytes(cut) <= EVENT_BYTES_MAXIMUM);
    // Only names of fields longer than the limit are left to be too much after the last step.
    Truncated { event: cut.unwrap_or_else(|| empty(event)), is_truncated: true }
}

/// Enough halvings to bring every bound down to its floor.
const STEPS: u32 = 10;

/// What may stay at one step.
struct Cut {
    characters: usize,
    items: usize,
    fields: usize,
    depth: usize,
}

// === impl Cut ===

impl Cut {
    /// Strings and lists give way first: they are what grows. Fields are the shape, so they are dropped last.
    fn at(step: u32) -> Self {
        let halved = |start: usize, from: u32| (start >> step.saturating_sub(from)).max(1);
        Self { characters: halved(512, 0).max(8), items: halved(32, 0), fields: halved(256, 3), depth: halved(64, 2) }
    }

    fn value(&self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(_) | Value::Object(_) if depth >= self.depth => empty(value),
            Value::Array(items) => items.iter().take(self.items).map(|item| self.value(item, depth + 1)).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().take(self.fields);
                kept.map(|(name, value)| (name.clone(), self.value(value, depth + 1))).collect::<Map<_, _>>().into()
            }
            short => short.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        match text.char_indices().nth(self.characters) {
            None => text.to_owned(),
            Some(_) => text.chars().take(self.characters).chain(['…']).collect(),
        }
    }
}

fn empty(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(_) => Value::Object(Map::new()),
        Value::String(_) => Value::String("…".to_owned()),
        short => short.clone(),
    }
}

fn size_bytes(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests;
