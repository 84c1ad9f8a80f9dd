//! Field selection.

use serde_json::json;

use super::*;

#[test]
fn fields_are_included_then_excluded() {
    let all = json!({"id": 1, "name": 2, "code": 3});
    let cases = [
        (None, None, all.clone()),
        (Some(""), Some(" , "), all.clone()),
        (Some("id, name"), None, json!({"id": 1, "name": 2})),
        (None, Some("code"), json!({"id": 1, "name": 2})),
        (Some("id,code"), Some("code"), json!({"id": 1})),
        (Some("unknown"), None, json!({})),
        (None, Some("unknown"), all.clone()),
    ];

    for (include, exclude, expected) in cases {
        let mut data = all.clone();
        FieldSelection::parse(include, exclude).apply(&mut data);
        assert_eq!(data, expected, "{include:?} {exclude:?}");
    }
}

#[test]
fn a_path_selects_within_a_field() {
    let all = json!({"id": 1, "meta": {"name": "n", "ts": 2}, "sends": [{"ok": true, "url": "u"}, 3]});
    let cases = [
        (Some("meta.name"), None, json!({"meta": {"name": "n"}})),
        (Some("id,meta.ts,meta.name"), None, json!({"id": 1, "meta": {"name": "n", "ts": 2}})),
        (Some("meta,meta.ts"), None, json!({"meta": {"name": "n", "ts": 2}})),
        (Some("meta.ts,meta"), None, json!({"meta": {"name": "n", "ts": 2}})),
        (Some("meta.unknown"), None, json!({"meta": {}})),
        (Some("id.part"), None, json!({})),
        (Some("sends.ok"), None, json!({"sends": [{"ok": true}, 3]})),
        (Some("meta"), Some("meta.ts"), json!({"meta": {"name": "n"}})),
        (None, Some("meta.ts,sends.url,id.x"), json!({"id": 1, "meta": {"name": "n"}, "sends": [{"ok": true}, 3]})),
        (None, Some("meta.unknown,.,a..b"), all.clone()),
    ];

    for (include, exclude, expected) in cases {
        let mut data = all.clone();
        FieldSelection::parse(include, exclude).apply(&mut data);
        assert_eq!(data, expected, "{include:?} {exclude:?}");
    }
}

#[test]
fn a_path_of_any_length_is_read_and_one_deeper_than_json_selects_nothing() {
    let mut deep = json!({"b": 1, "c": 2});
    for _ in 0..DEPTH_MAXIMUM - 1 {
        deep = json!({"a": deep});
    }
    let path = |depth: usize| format!("{}b", "a.".repeat(depth - 1));
    let select = |path: &str| {
        let mut data = deep.clone();
        FieldSelection::parse(Some(path), None).apply(&mut data);
        data.to_string()
    };

    assert!(select(&path(DEPTH_MAXIMUM)).contains(r#"{"b":1}"#));
    assert_eq!(select(&path(DEPTH_MAXIMUM + 1)), "{}");
    assert_eq!(select(&path(1_000_000)), "{}");
}

#[test]
fn each_item_of_a_list_is_reduced_and_its_inside_is_left_alone() {
    let mut data = json!([{"id": 1, "event": {"id": 2}}, "text"]);

    FieldSelection::parse(Some("event"), None).apply(&mut data);

    assert_eq!(data, json!([{"event": {"id": 2}}, "text"]));
}
