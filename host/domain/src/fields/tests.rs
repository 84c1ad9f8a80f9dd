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
fn each_item_of_a_list_is_reduced_and_its_inside_is_left_alone() {
    let mut data = json!([{"id": 1, "event": {"id": 2}}, "text"]);

    FieldSelection::parse(Some("event"), None).apply(&mut data);

    assert_eq!(data, json!([{"event": {"id": 2}}, "text"]));
}
