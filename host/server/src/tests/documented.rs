//! Is an answer one that the OpenAPI document describes?

use std::sync::LazyLock;

use serde_json::Value;

use super::wire::Reply;
use crate::openapi::whole_document;

static DOCUMENT: LazyLock<Value> = LazyLock::new(whole_document);

/// Fails when the document knows the route and not this answer of it.
pub(super) fn check(method: &str, path: &str, reply: &Reply) {
    let Some(operation) = operation(method, path) else {
        return;
    };
    let response = &operation["responses"][reply.status.to_string()];
    assert!(!response.is_null(), "{method} {path} answers {}, which is not documented: {}", reply.status, reply.text);
    if response["content"].get("text/event-stream").is_some() {
        return;
    }
    let schema = &response["content"]["application/json"]["schema"];
    if schema.is_null() {
        assert_eq!(reply.text, "", "{method} {path} {}: a body that is not documented", reply.status);
        return;
    }
    // Fields that were selected away are not missing.
    if !path.contains("include=") && !path.contains("exclude=") {
        fits(schema, &reply.json(), &format!("{method} {path} {}: ", reply.status));
    }
}

fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let path = path.split('?').next()?.strip_prefix("/v1")?;
    let given: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    let paths = DOCUMENT["paths"].as_object()?;
    let found = paths.iter().find(|(pattern, methods)| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        let is_same = |(wanted, given): (&&str, &&str)| wanted.starts_with('{') || wanted == given;
        pattern.len() == given.len()
            && pattern.iter().zip(&given).all(is_same)
            && methods.get(method.to_lowercase()).is_some()
    });
    found.map(|(_, methods)| &methods[method.to_lowercase()])
}

/// The part of JSON Schema that our document uses.
fn fits(schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap();
        return fits(target, value, place);
    }
    check_type(schema, value, place);
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{place}{value} is none of {values:?}");
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        values.iter().enumerate().for_each(|(index, item)| fits(items, item, &format!("{place}[{index}]")));
    }
    let Some(fields) = value.as_object() else {
        return;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(fields.contains_key(name.as_str().unwrap()), "{place}{name} is missing in {value}");
    }
    for (name, field) in fields {
        match schema["properties"].get(name) {
            Some(property) => fits(property, field, &format!("{place}{name}.")),
            None => assert_ne!(schema["additionalProperties"], false, "{place}{name} is not documented"),
        }
    }
}

fn check_type(schema: &Value, value: &Value, place: &str) {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(kinds.contains(&kind), "{place}{value} is not {kinds:?}");
}
