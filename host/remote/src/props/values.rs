//! Texts that people type, in the type a prop declares.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::ask::Ask;
use crate::error::Error;
use crate::models::Prop;
use crate::unique::Unique;

/// What `--props` names.
pub(super) fn read_file(path: &Path) -> Result<Map<String, Value>, Error> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    let read = serde_json::from_str::<Unique>(&text).and_then(|read| serde_json::from_value(read.0));
    read.map_err(|source| Error::NotJson { path: path.to_owned(), source })
}

/// `text` as a value of the prop. Arrays are written as JSON or as one value at a time.
pub fn parse_value(prop: &Prop, text: &str) -> Result<Value, Error> {
    let invalid = |expected: &str| Error::InvalidProp {
        name: prop.name.clone(),
        given: if prop.secret { "(secret)".to_owned() } else { text.to_owned() },
        expected: expected.to_owned(),
    };
    if let Some(scalar) = prop.kind.strip_suffix("[]") {
        if let Ok(Value::Array(values)) = serde_json::from_str(text) {
            return Ok(Value::Array(values));
        }
        return Ok(json!([parse_scalar(scalar, text).map_err(invalid)?]));
    }
    let value = parse_scalar(&prop.kind, text).map_err(invalid)?;
    if let Some(number) = value.as_i64().filter(|_| prop.kind == "integer") {
        let (min, max) = (prop.min.unwrap_or(i64::MIN), prop.max.unwrap_or(i64::MAX));
        if !(min..=max).contains(&number) {
            return Err(invalid(&bounds(prop)));
        }
    }
    Ok(value)
}

fn parse_scalar(kind: &str, text: &str) -> Result<Value, &'static str> {
    match kind {
        "boolean" => match text.to_lowercase().as_str() {
            "true" | "yes" | "y" | "1" => Ok(json!(true)),
            "false" | "no" | "n" | "0" => Ok(json!(false)),
            _ => Err("true or false"),
        },
        "integer" => text.trim().parse::<i64>().map(Value::from).map_err(|_| "a whole number"),
        "object" => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
            _ => Err("a JSON object"),
        },
        "$.interface.timer" => parse_schedule(text).ok_or("a schedule: `15m`, `3600` (seconds) or a cron expression"),
        "any" => Ok(serde_json::from_str(text).unwrap_or_else(|_| json!(text))),
        // An account's name or id, or the object that holds it.
        "app" => Ok(serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| json!(text))),
        _ => Ok(json!(text)),
    }
}

/// `90`, `90s`, `15m`, `2h`, `1d`, a cron expression, or what the API takes.
fn parse_schedule(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
        return Some(Value::Object(fields));
    }
    if text.split_whitespace().count() == 5 {
        return Some(json!({"cron": text}));
    }
    let (number, unit) = match text.char_indices().find(|(_, letter)| !letter.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, "s"),
    };
    let seconds: u64 = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    Some(json!({"intervalSeconds": number.parse::<u64>().ok()?.checked_mul(seconds)?}))
}

fn bounds(prop: &Prop) -> String {
    match (prop.min, prop.max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => "a whole number".to_owned(),
    }
}

/// Asks for a value that is typed.
pub(super) fn ask(person: &dyn Ask, prop: &Prop) -> Result<Option<Value>, Error> {
    let can_be_empty = prop.optional || prop.default.is_some();
    let question = question(prop);
    if prop.kind == "boolean" && !prop.optional {
        let default = prop.default.as_ref().and_then(Value::as_bool).unwrap_or(false);
        return person.confirm(&question, default).map(|answer| Some(json!(answer)));
    }
    let answer = match prop.secret {
        true => person.secret(&question, can_be_empty)?,
        false => person.text(&question, default_text(prop).as_deref(), can_be_empty)?,
    };
    // What the author chose stands on the server; sending it would only freeze it.
    let is_default = default_text(prop).is_some_and(|default| default == answer);
    if answer.is_empty() || is_default {
        return Ok(None);
    }
    if prop.kind.ends_with("[]") && !answer.trim_start().starts_with('[') {
        let values: Result<Vec<Value>, Error> =
            answer.split(',').map(|value| parse_value(prop, value.trim())).collect();
        let values = values?.into_iter().flat_map(|value| value.as_array().cloned().unwrap_or_default());
        return Ok(Some(values.collect()));
    }
    parse_value(prop, &answer).map(Some)
}

pub(super) fn question(prop: &Prop) -> String {
    let mut question = prop.label().to_owned();
    match prop.kind.as_str() {
        "$.interface.timer" => question.push_str(" (how often: 15m, 1h or a cron expression)"),
        "object" => question.push_str(" (JSON)"),
        kind if kind.ends_with("[]") => question.push_str(" (separated by commas)"),
        _ => {}
    }
    if prop.optional {
        question.push_str(" (optional)");
    }
    question
}

fn default_text(prop: &Prop) -> Option<String> {
    let default = prop.default.as_ref().filter(|default| !default.is_null())?;
    if prop.kind == "$.interface.timer" {
        let seconds = default.get("intervalSeconds").and_then(Value::as_u64).map(|seconds| format!("{seconds}s"));
        return seconds.or_else(|| default.get("cron").and_then(Value::as_str).map(str::to_owned));
    }
    Some(default.as_str().map_or_else(|| default.to_string(), str::to_owned))
}

/// The error of a script that left something out, with what to add.
pub(super) fn missing(props: &[&Prop]) -> Error {
    let example = |prop: &&Prop| {
        let value = match prop.kind.as_str() {
            "app" => "ACCOUNT",
            "boolean" => "true",
            "integer" => "NUMBER",
            "object" => "JSON",
            "$.interface.timer" => "15m",
            _ => "VALUE",
        };
        format!("--prop {}={value}", prop.name)
    };
    Error::MissingProps {
        names: props.iter().map(|prop| prop.name.clone()).collect(),
        examples: props.iter().map(example).collect(),
    }
}

#[cfg(test)]
mod tests;
