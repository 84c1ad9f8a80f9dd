//! Tests of values.

use serde_json::{Value, json};

use super::parse_value;
use crate::models::Prop;

fn prop(definition: Value) -> Prop {
    serde_json::from_value(definition).unwrap()
}

fn parse(kind: &str, text: &str) -> Option<Value> {
    parse_value(&prop(json!({"name": "x", "type": kind})), text).ok()
}

#[test]
fn texts_become_values_of_the_declared_type() {
    let cases = [
        ("string", "12", json!("12")),
        ("integer", " 12 ", json!(12)),
        ("boolean", "No", json!(false)),
        ("object", r#"{"a":1}"#, json!({"a": 1})),
        ("any", "[1]", json!([1])),
        ("any", "text", json!("text")),
        ("string[]", "a", json!(["a"])),
        ("string[]", r#"["a","b"]"#, json!(["a", "b"])),
        ("integer[]", "3", json!([3])),
        ("app", "Work", json!("Work")),
        ("app", r#"{"authProvisionId":"apn_1"}"#, json!({"authProvisionId": "apn_1"})),
    ];

    for (kind, text, expected) in cases {
        assert_eq!(parse(kind, text), Some(expected), "{kind} {text}");
    }
}

#[test]
fn texts_that_do_not_fit_are_refused() {
    for (kind, text) in [("integer", "1.5"), ("boolean", "maybe"), ("object", "[]"), ("integer[]", "x")] {
        assert_eq!(parse(kind, text), None, "{kind} {text}");
    }
}

#[test]
fn schedules_are_written_as_people_say_them() {
    let every = |seconds: u64| Some(json!({"intervalSeconds": seconds}));
    let cases = [
        ("90", every(90)),
        ("90s", every(90)),
        ("15m", every(900)),
        ("15 min", every(900)),
        ("2h", every(7200)),
        ("1d", every(86_400)),
        ("*/5 * * * *", Some(json!({"cron": "*/5 * * * *"}))),
        (
            r#"{"cron":"0 0 * * *","timezone":"Europe/Berlin"}"#,
            Some(json!({"cron": "0 0 * * *", "timezone": "Europe/Berlin"})),
        ),
        ("soon", None),
        ("1w", None),
        ("m", None),
        ("18446744073709551615d", None),
    ];

    for (text, expected) in cases {
        assert_eq!(parse("$.interface.timer", text), expected, "{text}");
    }
}

#[test]
fn integers_keep_to_their_bounds() {
    let bounded = prop(json!({"name": "x", "type": "integer", "min": 1, "max": 9}));

    for (text, is_taken) in [("0", false), ("1", true), ("9", true), ("10", false)] {
        assert_eq!(parse_value(&bounded, text).is_ok(), is_taken, "{text}");
    }
}

#[test]
fn a_secret_is_not_repeated_in_an_error() {
    let secret = prop(json!({"name": "x", "type": "integer", "secret": true}));

    let refused = parse_value(&secret, "hunter2").unwrap_err();

    assert!(!refused.to_string().contains("hunter2"));
}
