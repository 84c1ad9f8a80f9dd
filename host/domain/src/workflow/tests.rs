//! Documents and positions, as tables.

mod documents;
mod positions;
mod templates;

use serde_json::{Value, json};

use super::Document;

fn document(steps: Value) -> Document {
    Document::parse(&json!({"steps": steps}), 1).unwrap()
}

fn code(namespace: &str) -> Value {
    json!({"namespace": namespace, "code": "export default {}"})
}
