//! Configured values.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::*;
use super::{parse_props, paths};
use crate::limits::Limits;
use crate::problem::Problem;

fn configure(props: Value, given: Value) -> Result<Configured, Vec<Problem>> {
    let definitions = parse_props(props).unwrap();
    validate(&definitions, given.as_object().unwrap(), &Limits::default())
}

/// One prop `x` and its value: the value the component sees, or none when it is refused.
fn seen(prop: Value, given: Value) -> Option<Value> {
    let configured = configure(json!({"x": prop}), json!({"x": given})).ok()?;
    configured.values.get("x").cloned()
}

#[test]
fn a_value_fits_its_type_or_is_converted_without_loss() {
    let accepted = [
        ("boolean", json!(true), json!(true)),
        ("boolean", json!("false"), json!(false)),
        ("integer", json!(5), json!(5)),
        ("integer", json!(5.0), json!(5)),
        ("integer", json!("-7"), json!(-7)),
        ("integer", json!(9_007_199_254_740_991_i64), json!(9_007_199_254_740_991_i64)),
        ("string", json!(""), json!("")),
        ("object", json!({"label": 1, "value": 2}), json!({"label": 1, "value": 2})),
        ("any", json!([1, "a"]), json!([1, "a"])),
        ("string[]", json!(["a", "b"]), json!(["a", "b"])),
        ("string[]", json!([]), json!([])),
        ("integer[]", json!([1, "2"]), json!([1, 2])),
        ("object[]", json!([{}]), json!([{}])),
        ("string", json!({"label": "A", "value": "a"}), json!("a")),
        ("string", json!({"label": "A", "value": 5, "icon": "x"}), json!("5")),
        ("string", json!(5), json!("5")),
        ("string", json!(-9_007_199_254_740_991_i64), json!("-9007199254740991")),
        ("string", json!(true), json!("true")),
        ("string[]", json!([1, "b", {"label": "C", "value": 3}]), json!(["1", "b", "3"])),
        ("integer", json!({"label": "Seven", "value": "7"}), json!(7)),
        ("integer[]", json!([{"label": "Seven", "value": "7"}]), json!([7])),
        ("boolean[]", json!(["true", false]), json!([true, false])),
    ];
    for (kind, given, expected) in accepted {
        assert_eq!(seen(json!(kind), given.clone()), Some(expected), "{kind} {given}");
    }

    let refused = [
        ("boolean", json!(1)),
        ("boolean", json!("yes")),
        ("integer", json!(1.5)),
        ("integer", json!("007")),
        ("integer", json!("+7")),
        ("integer", json!("")),
        ("integer", json!(true)),
        ("integer", json!(9_007_199_254_740_992_i64)),
        ("integer", json!("1e3")),
        ("integer", json!("7.0")),
        ("integer", json!(" 7")),
        ("string", json!(1.5)),
        ("string", json!(5.0)),
        ("string", json!(9_007_199_254_740_992_i64)),
        ("string", json!(u64::MAX)),
        ("string", json!(["a"])),
        ("string", json!({"value": "a"})),
        ("object", json!([])),
        ("object", json!("{}")),
        ("string[]", json!("a")),
        ("string[]", json!([1.5])),
    ];
    for (kind, given) in refused {
        assert_eq!(seen(json!(kind), given.clone()), None, "{kind} {given}");
    }
}

#[test]
fn every_problem_is_reported_at_once() {
    let props = json!({
        "channel": "string", "count": {"type": "integer", "min": 1, "max": 3}, "tags": "string[]",
        "slack": {"type": "app", "app": "slack"}, "timer": "$.interface.timer", "missing": "string",
    });
    let given = json!({
        "chanel": "x", "channel": 0.5, "count": 4, "tags": ["a", {}, []], "slack": {"authProvisionId": "apn_1"},
        "timer": {"cron": "nope"},
    });

    let problems = configure(props, given).unwrap_err();

    assert_eq!(
        paths(&problems),
        [
            "configured_props.chanel",
            "configured_props.channel",
            "configured_props.count",
            "configured_props.tags[1]",
            "configured_props.tags[2]",
            "configured_props.slack.authProvisionId",
            "configured_props.timer.cron",
            "configured_props.missing",
        ]
    );
    assert_eq!(problems[0].message, "the component has no such prop; did you mean `channel`?");
}

#[test]
fn bounds_are_inclusive() {
    let prop = json!({"type": "integer", "min": 1, "max": 3});

    for (given, fits) in [(0, false), (1, true), (3, true), (4, false)] {
        assert_eq!(seen(prop.clone(), json!(given)).is_some(), fits, "{given}");
    }
}

#[test]
fn a_value_is_one_of_the_options() {
    let prop = json!({"type": "string", "options": ["a", {"label": "Bee", "value": "b"}]});

    assert_eq!(seen(prop.clone(), json!("a")), Some(json!("a")));
    assert_eq!(seen(prop.clone(), json!("b")), Some(json!("b")));
    assert_eq!(seen(prop.clone(), json!({"label": "Bee", "value": "b"})), Some(json!("b")));
    assert_eq!(seen(prop.clone(), json!("Bee")), None);
    assert_eq!(seen(json!({"type": "string[]", "options": ["a"]}), json!(["a", "z"])), None);
    assert_eq!(seen(json!({"type": "string", "options": []}), json!("z")), Some(json!("z")));
    assert_eq!(seen(json!({"type": "string", "options": {"$fn": true}}), json!("new")), Some(json!("new")));
}

#[test]
fn options_are_compared_as_their_type_reads_them() {
    let numbers = json!({"type": "string", "options": [1, {"label": "Two", "value": 2}]});
    let texts = json!({"type": "integer", "options": ["1", {"label": "Two", "value": "2"}]});

    for given in [json!(2), json!("2"), json!({"label": "Two", "value": 2}), json!({"label": "Two", "value": "2"})] {
        assert_eq!(seen(numbers.clone(), given.clone()), Some(json!("2")), "{given}");
        assert_eq!(seen(texts.clone(), given.clone()), Some(json!(2)), "{given}");
    }
    assert_eq!(seen(numbers, json!("3")), None);
    let objects = json!({"type": "object", "options": [{"label": "A", "value": {"id": 1}}]});
    assert_eq!(seen(objects.clone(), json!({"label": "A", "value": {"id": 1}})), Some(json!({"id": 1})));
    assert_eq!(seen(objects, json!({"id": 1})), Some(json!({"id": 1})));
}

#[test]
fn a_partial_configuration_must_fit_and_may_lack_everything() {
    let props = json!({
        "slack": {"type": "app", "app": "slack"}, "timer": "$.interface.timer", "channel": "string",
        "count": {"type": "integer", "default": "3"}, "http": "$.interface.http",
    });
    let partial = |given: Value| {
        let definitions = parse_props(props.clone()).unwrap();
        validate_partial(&definitions, given.as_object().unwrap(), &Limits::default())
    };

    let given = json!({"channel": 5, "http": {"endpoint_url": "x"}, "more": {"label": 1, "value": 2}});
    let values = Value::Object(partial(given).unwrap().values);
    assert_eq!(values, json!({"channel": "5", "count": 3, "more": {"label": 1, "value": 2}}));
    let problems = partial(json!({"slack": {"authProvisionId": "apn_1"}, "count": "many"})).unwrap_err();
    assert_eq!(paths(&problems), ["configured_props.slack.authProvisionId", "configured_props.count"]);
}

#[test]
fn a_prop_with_label_always_arrives_with_one() {
    let prop = |kind: &str| json!({"type": kind, "withLabel": true, "options": [{"label": "Bee", "value": "b"}, "c"]});

    assert_eq!(seen(prop("string"), json!("b")), Some(json!({"label": "Bee", "value": "b"})));
    assert_eq!(seen(prop("string"), json!("c")), Some(json!({"label": "c", "value": "c"})));
    let mine = json!({"label": "mine", "value": "b"});
    assert_eq!(seen(prop("string"), mine.clone()), Some(mine.clone()));
    assert_eq!(seen(prop("string[]"), json!([mine])), Some(json!([mine])));
    assert_eq!(seen(json!({"type": "integer", "withLabel": true}), json!(4)), Some(json!({"label": "4", "value": 4})));
}

#[test]
fn defaults_are_applied_and_optional_props_may_be_absent() {
    let props = json!({
        "a": {"type": "integer", "default": "5"}, "b": {"type": "string", "default": ["*"]},
        "c": {"type": "string", "optional": true}, "d": {"type": "string", "default": "x"},
    });

    let configured = configure(props, json!({"d": null})).unwrap();

    assert_eq!(Value::Object(configured.values), json!({"a": 5, "b": ["*"], "d": "x"}));
}

#[test]
fn a_timer_runs_on_the_given_schedule_or_its_default() {
    let with_default = json!({"t": {"type": "$.interface.timer", "default": {"intervalSeconds": 900}}});

    let cases = [
        (json!({}), json!({"cron": null, "interval_seconds": 900})),
        (json!({"t": {"intervalSeconds": 5}}), json!({"cron": null, "interval_seconds": 5})),
        (json!({"t": {"cron": null, "interval_seconds": 7}}), json!({"cron": null, "interval_seconds": 7})),
    ];
    for (given, expected) in cases {
        let configured = configure(with_default.clone(), given).unwrap();
        assert_eq!(configured.values["t"], expected);
        assert_eq!(configured.schedules[0].0, "t");
    }
}

#[test]
fn a_timer_without_any_schedule_is_a_problem() {
    assert!(configure(json!({"t": "$.interface.timer"}), json!({})).is_err());
    assert!(configure(json!({"t": {"type": "$.interface.timer", "optional": true}}), json!({})).is_ok());
}

#[test]
fn an_app_prop_names_an_account() {
    let app = json!({"a": {"type": "app", "app": "slack"}});
    let account = json!({"authProvisionId": "apn_abcABC012345"});

    let configured = configure(app.clone(), json!({"a": account})).unwrap();

    assert_eq!(configured.values["a"], account);
    assert_eq!(configured.accounts[0].1.as_str(), "apn_abcABC012345");
    assert!(configure(app.clone(), json!({})).unwrap_err()[0].message.contains("slack"));
    assert!(configure(app, json!({"a": "apn_abcABC012345"})).is_err());
    assert!(configure(json!({"a": {"type": "app", "app": "slack", "optional": true}}), json!({})).is_ok());
}

#[test]
fn what_the_platform_provides_is_ignored_when_sent_back() {
    let props = json!({"http": "$.interface.http", "db": "$.service.db", "hook": "$.interface.apphook"});

    let configured = configure(props, json!({"http": {"endpoint_url": "http://x"}, "db": {}})).unwrap();

    assert_eq!(configured, Configured::default());
}

#[test]
fn a_value_is_bounded_in_size() {
    let quotes = 2;
    let bound = Limits::default().prop_value_bytes - quotes;

    assert!(seen(json!("string"), json!("x".repeat(bound))).is_some());
    assert!(seen(json!("string"), json!("x".repeat(bound + 1))).is_none());
}

proptest! {
    #[test]
    fn a_number_becomes_a_text_only_when_it_reads_the_same_way_back(number: i64, fraction: f64) {
        for value in [json!(number), json!(fraction)] {
            if let Some(Value::String(text)) = seen(json!("string"), value.clone()) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value.clone());
                prop_assert_eq!(seen(json!("integer"), json!(text)), Some(value));
            }
        }
    }

    #[test]
    fn configured_values_are_stable(numbers in prop::collection::vec(-99_i64..99, 0..5), text in ".{0,9}", flag: bool) {
        let props = json!({"n": "integer[]", "s": {"type": "string", "withLabel": true}, "b": "boolean"});
        let given = json!({"n": numbers, "s": text, "b": flag.to_string()});

        let once = configure(props.clone(), given).unwrap().values;
        let twice = configure(props, Value::Object(once.clone())).unwrap().values;

        prop_assert_eq!(once, twice);
    }

    #[test]
    fn no_value_makes_validation_panic(text in ".{0,20}", number: f64, kind in 0..PropType::ALL.len()) {
        let definitions = parse_props(json!({"x": {"type": PropType::ALL[kind], "app": "a"}})).unwrap_or_default();
        for value in [json!(text), json!(number), json!([text]), json!({"label": text, "value": number})] {
            let given = Map::from_iter([("x".to_owned(), value)]);
            let _either = validate(&definitions, &given, &Limits::default());
        }
    }
}
