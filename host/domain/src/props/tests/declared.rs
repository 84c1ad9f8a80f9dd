//! Declarations.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::*;
use super::{parse_props, paths};

#[track_caller]
fn check(prop: Value, expected: &[&str]) {
    let found = parse_props(json!({"x": prop})).err().unwrap_or_default();
    assert_eq!(paths(&found), expected, "{prop} gave {found:?}");
}

#[test]
fn every_type_is_known_under_one_name() {
    for kind in PropType::ALL {
        assert_eq!(PropType::parse(kind.as_str()).as_ref(), Some(&kind));
        assert_eq!(serde_json::to_value(&kind).unwrap(), kind.as_str());
    }
}

#[test]
fn a_prop_may_be_written_as_its_type() {
    let props = parse_props(json!({"db": "$.service.db", "x": "string"})).unwrap();

    assert_eq!(props[0].kind, PropType::Db);
    assert_eq!(props[1].kind, PropType::String);
}

#[test]
fn each_mistake_is_found_where_it_is() {
    check(json!(null), &["props.x"]);
    check(json!(5), &["props.x"]);
    check(json!({"$fn": true}), &["props.x"]);
    check(json!({}), &["props.x.type"]);
    check(json!({"type": ""}), &["props.x.type"]);
    check(json!({"type": "strin"}), &["props.x.type"]);
    check(json!({"type": "string", "label": 1, "description": 2}), &["props.x.label", "props.x.description"]);
    check(json!({"type": "string", "optional": "yes"}), &["props.x.optional"]);
    check(json!({"type": "integer", "secret": true}), &["props.x.secret"]);
    check(json!({"type": "string[]", "secret": true}), &["props.x.secret"]);
    check(json!({"type": "integer", "secret": false}), &[]);
    check(json!({"type": "integer", "min": 5, "max": 4}), &["props.x.min"]);
    check(json!({"type": "integer[]", "min": 5, "max": 5}), &[]);
    check(json!({"type": "integer", "min": 1.5}), &["props.x.min"]);
    check(json!({"type": "string", "min": 1, "max": 2}), &["props.x.min", "props.x.max"]);
    check(json!({"type": "app"}), &["props.x.app"]);
    check(json!({"type": "string", "default": {"$fn": true}}), &["props.x.default"]);
}

#[test]
fn types_of_other_platforms_are_kept_and_noted() {
    let props = parse_props(json!({
        "base": "$.airtable.baseId",
        "channels": {"type": "$.discord.channel[]", "label": "Channels", "optional": true},
        "banner": {"type": "alert", "alertType": "info"},
    }))
    .unwrap();

    let returned = configurable_props(&props);

    let note = "this type comes from another platform: any JSON value is taken as it is";
    let expected = json!([
        {"name": "base", "type": "$.airtable.baseId", "note": note},
        {"name": "channels", "type": "$.discord.channel[]", "label": "Channels", "optional": true, "note": note},
        {"name": "banner", "type": "alert", "alertType": "info", "optional": true, "note": note},
    ]);
    assert_eq!(returned, expected);
    assert_eq!(serde_json::from_value::<Vec<PropDefinition>>(returned).unwrap(), props);
}

#[test]
fn a_slip_in_a_type_of_ours_is_no_type_of_another_platform() {
    for name in ["$.interface.htp", "$.service.database", "$.airtable", "$..x", "$.a.b.", "$.a b.c", "$.a.b[][]"] {
        check(json!(name), &["props.x.type"]);
    }
    check(json!(format!("$.a.{}", "b".repeat(96))), &[]);
    check(json!(format!("$.a.{}", "b".repeat(97))), &["props.x.type"]);
}

#[test]
fn options_are_values_or_labelled_values_or_a_method() {
    check(json!({"type": "string", "options": ["a", "b"]}), &[]);
    check(json!({"type": "integer", "options": [1, {"label": "two", "value": 2}]}), &[]);
    check(json!({"type": "string", "options": {"$fn": true}}), &[]);
    check(json!({"type": "string", "options": "a"}), &["props.x.options"]);
    check(json!({"type": "string", "options": {"a": 1}}), &["props.x.options"]);
    check(
        json!({"type": "string", "options": ["a", null, {"label": "b"}, {"value": "c"}, ["d"]]}),
        &["props.x.options[1]", "props.x.options[2]", "props.x.options[3]", "props.x.options[4]"],
    );
}

#[test]
fn the_default_of_a_timer_is_a_schedule() {
    let timer = |default: Value| json!({"type": "$.interface.timer", "default": default});

    check(json!("$.interface.timer"), &[]);
    check(timer(json!({"intervalSeconds": 1})), &[]);
    check(timer(json!({"cron": "0 9 * * *", "timezone": "Asia/Tokyo"})), &[]);
    check(timer(json!({"intervalSeconds": 0})), &["props.x.default.intervalSeconds"]);
    check(timer(json!({"cron": "often"})), &["props.x.default.cron"]);
    check(timer(json!({"cron": "0 9 * * *", "timezone": "Mars"})), &["props.x.default.timezone"]);
    check(timer(json!({})), &["props.x.default"]);
    check(timer(json!(60)), &["props.x.default"]);
}

#[test]
fn a_reused_prop_that_does_not_exist_is_the_only_complaint() {
    check(json!({"propDefinition": {"error": "github has no propDefinition `repo`"}}), &["props.x.propDefinition"]);
    check(json!({"type": "string", "propDefinition": [1]}), &["props.x.propDefinition"]);
    check(json!({"type": "string", "propDefinition": {"app": "github", "name": "repo", "hasInput": true}}), &[]);
}

#[test]
fn a_default_of_any_type_makes_a_required_prop_optional() {
    let props = parse_props(json!({"x": {"type": "string", "default": ["*"]}, "y": "string"})).unwrap();

    assert!(props[0].may_be_absent());
    assert!(!props[1].may_be_absent());
}

#[test]
fn the_api_returns_what_was_declared_and_says_when_options_are_remote() {
    let props = parse_props(json!({
        "github": {"type": "app", "app": "github", "label": "GitHub", "methods": {"a": {"$fn": true}}, "propDefinitions": {}},
        "repo": {"type": "string", "options": {"$fn": true}, "optional": true, "reloadProps": true, "name": "no"},
        "kind": {"type": "string", "options": ["a"], "default": "a", "secret": false},
        "http": {"type": "$.interface.http", "customResponse": true},
        "limit": {"type": "integer", "min": 1, "max": 9},
    }))
    .unwrap();

    let returned = configurable_props(&props);

    let expected = json!([
        {"name": "github", "type": "app", "label": "GitHub", "app": "github"},
        {"name": "repo", "type": "string", "optional": true, "remoteOptions": true, "reloadProps": true},
        {"name": "kind", "type": "string", "default": "a", "options": ["a"]},
        {"name": "http", "type": "$.interface.http", "customResponse": true},
        {"name": "limit", "type": "integer", "min": 1, "max": 9},
    ]);
    assert_eq!(returned, expected);
    assert_eq!(serde_json::from_value::<Vec<PropDefinition>>(returned).unwrap(), props);
}

fn any_property() -> impl Strategy<Value = (String, Value)> {
    let names = [
        "label",
        "description",
        "app",
        "optional",
        "default",
        "secret",
        "min",
        "max",
        "options",
        "remoteOptions",
        "withLabel",
        "customResponse",
        "propDefinition",
        "name",
        "extra",
    ];
    let values = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(3)),
        Just(json!("text")),
        Just(json!(["a"])),
        Just(json!({"$fn": true})),
        Just(json!({"app": "a", "name": "b"})),
        Just(json!({"intervalSeconds": 5})),
    ];
    (prop::sample::select(names.to_vec()).prop_map(str::to_owned), values)
}

proptest! {
    #[test]
    fn whatever_parses_can_be_stored_and_read_back(
        kind in prop::sample::select([&PropType::ALL[..], &[PropType::parse("$.airtable.baseId").unwrap()]].concat()),
        properties in prop::collection::vec(any_property(), 0..5),
    ) {
        let mut prop: Map<String, Value> = properties.into_iter().collect();
        prop.insert("type".to_owned(), json!(kind));

        if let Ok(definitions) = parse_props(json!({"x": prop})) {
            let stored = configurable_props(&definitions);
            prop_assert_eq!(serde_json::from_value::<Vec<PropDefinition>>(stored).unwrap(), definitions);
        }
    }
}
