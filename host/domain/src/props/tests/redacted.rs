//! Secrets.

use serde_json::{Value, json};

use super::super::*;
use super::parse_props;

#[test]
fn a_secret_value_is_never_shown() {
    let secret = json!({"type": "string", "secret": true});
    let props = parse_props(json!({"token": secret, "x": "string", "other": secret})).unwrap();
    let values = json!({"token": "hunter2", "x": "plain"});

    let shown = redact(&props, values.as_object().unwrap());

    assert_eq!(Value::Object(shown), json!({"token": "********", "x": "plain"}));
    assert_eq!(secret_names(&props).collect::<Vec<_>>(), ["token", "other"]);
}

#[test]
fn the_stand_in_sent_back_means_unchanged() {
    let props = parse_props(json!({"token": {"type": "string", "secret": true}, "x": "string"})).unwrap();
    let kept = json!({"token": "hunter2", "x": "old"});
    let given = |token: &str| json!({"token": token, "x": "********"}).as_object().unwrap().clone();

    let mut unchanged = given("********");
    restore_redacted(&props, &mut unchanged, kept.as_object().unwrap());
    let mut changed = given("hunter3");
    restore_redacted(&props, &mut changed, kept.as_object().unwrap());

    assert_eq!(Value::Object(unchanged), json!({"token": "hunter2", "x": "********"}));
    assert_eq!(changed["token"], "hunter3");
}
