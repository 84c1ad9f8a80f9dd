//! Props from the command line against what a component declares.

use remote::props::PropArguments;
use serde_json::{Value, json};

use super::read;

fn arguments(given: &[&str]) -> PropArguments {
    PropArguments { values: given.iter().map(|text| (*text).to_owned()).collect(), file: None }
}

/// A component with these props, and `--prop` for each of `given`.
fn check(props: &Value, given: &[&str]) -> Result<Value, String> {
    let exports = json!({"name": "x", "version": "1", "props": props, "run": {"$fn": true}});
    let configured = read(&arguments(given), &exports).map_err(|error| error.to_string())?;
    Ok(Value::Object(configured.values))
}

#[test]
fn texts_are_read_in_the_types_that_are_declared_and_defaults_are_filled_in() {
    let props = json!({
        "text": "string", "count": {"type": "integer", "min": 1}, "is_on": "boolean", "tags": "string[]", "data": "object",
        "quiet": {"type": "string", "optional": true}, "size": {"type": "integer", "default": 7},
        "timer": "$.interface.timer", "db": "$.service.db", "http": "$.interface.http",
        "color": {"type": "string", "options": [{"label": "Red", "value": "r"}], "withLabel": true},
    });

    let given = ["text=007", "count=3", "is_on=yes", "tags=a", "tags=b", "data={\"a\": 1}", "timer=15m", "color=r"];
    let values = check(&props, &given).unwrap();

    assert_eq!(
        values,
        json!({
            "text": "007", "count": 3, "is_on": true, "tags": ["a", "b"], "data": {"a": 1}, "size": 7,
            "timer": {"cron": null, "interval_seconds": 900}, "color": {"label": "Red", "value": "r"},
        })
    );
}

#[test]
fn what_a_deploy_refuses_is_refused() {
    for (props, given, says) in [
        (json!({"a": "string"}), vec![], "values are missing for a"),
        (json!({"a": "string"}), vec!["b=1"], "`b`"),
        (json!({"a": "integer"}), vec!["a=x"], "a whole number"),
        (json!({"a": {"type": "integer", "min": 5}}), vec!["a=1"], "5 or more"),
        (json!({"a": {"type": "string", "options": ["x", "y"]}}), vec!["a=z"], "a: must be one of \"x\", \"y\""),
        (json!({"a": "$.interface.timer"}), vec![], "values are missing for a"),
        (json!({"a": {"type": "app", "app": "github"}}), vec!["a=Work"], "accounts are the server's"),
        (json!({"a": {"type": "app", "app": "github"}}), vec!["a={\"authProvisionId\": \"apn_x\"}"], "accounts are"),
    ] {
        let refused = check(&props, &given).unwrap_err();

        assert!(refused.contains(says), "{props} {given:?}: {refused}");
    }
}

#[test]
fn an_app_may_be_left_out_or_given_its_credentials() {
    let exports = json!({"name": "x", "version": "1", "run": {"$fn": true},
        "props": {"a": {"type": "app", "app": "github"}, "b": {"type": "app", "app": "github"}}});

    let configured = read(&arguments(&["b={\"token\": \"t\"}"]), &exports).unwrap();

    assert_eq!(configured.values, serde_json::Map::new());
    assert_eq!(
        configured.credentials.into_iter().collect::<Vec<_>>(),
        [("b".to_owned(), "{\"token\":\"t\"}".to_owned())]
    );
}

#[test]
fn a_component_that_is_not_whole_yet_is_run_with_what_is_given() {
    let configured = read(&arguments(&["a=1", "b=x"]), &json!({"run": {"$fn": true}})).unwrap();

    assert_eq!(Value::Object(configured.values), json!({"a": 1, "b": "x"}));
}
