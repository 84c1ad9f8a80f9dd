//! Truncation.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn an_event_of_one_kilobyte_stays_whole() {
    let quotes = 2;
    let whole = json!("x".repeat(EVENT_BYTES_MAXIMUM - quotes));
    let longer = json!("x".repeat(EVENT_BYTES_MAXIMUM - quotes + 1));

    assert_eq!(truncate(&whole), Truncated { event: whole.clone(), is_truncated: false });
    assert!(truncate(&longer).is_truncated);
}

#[test]
fn the_shape_is_kept_and_long_parts_are_cut() {
    let event =
        json!({"id": 5, "body": "y".repeat(5_000), "tags": vec!["t"; 900], "nested": {"ok": true, "none": null}});

    let truncated = truncate(&event).event;

    assert_eq!(truncated["id"], 5);
    assert_eq!(truncated["nested"], json!({"ok": true, "none": null}));
    assert!(truncated["body"].as_str().unwrap().ends_with("y…"));
    assert_eq!(truncated["tags"][0], "t");
}

#[test]
fn what_cannot_be_cut_to_size_becomes_empty() {
    let long_name = "n".repeat(2_000);

    assert_eq!(truncate(&json!({long_name: 1})).event, json!({}));
}

#[test]
fn a_character_is_never_cut_in_half() {
    let truncated = truncate(&json!("é".repeat(3_000))).event;

    assert_eq!(truncated.as_str().unwrap().chars().filter(|character| *character != 'é').collect::<String>(), "…");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), ".{0,300}".prop_map(Value::from)];
    leaf.prop_recursive(6, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec((".{0,20}", inner), 0..12)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn the_result_fits_and_has_the_type_it_had(event in any_json()) {
        let truncated = truncate(&event);

        prop_assert!(size_bytes(&truncated.event) <= EVENT_BYTES_MAXIMUM);
        prop_assert_eq!(std::mem::discriminant(&truncated.event), std::mem::discriminant(&event));
        prop_assert_eq!(truncated.is_truncated, truncated.event != event);
    }
}
