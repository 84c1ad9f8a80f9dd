//! What `$emit` takes, and the order emits leave in.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn emit(event: i64, ts: Option<i64>) -> Emit {
    Emit::parse(json!(event), &json!({"ts": ts})).unwrap()
}

fn events(emits: &[Emit]) -> Vec<i64> {
    emits.iter().map(|emit| emit.event.to_value().as_i64().unwrap()).collect()
}

#[test]
fn metadata_is_read_and_wrong_types_are_ignored() {
    let full = json!({"id": 7, "name": "paid", "summary": "a sale", "ts": 5, "delivery_ts": 9.7});
    let wrong = json!({"id": null, "name": 3, "summary": [], "ts": "soon", "delivery_ts": null});

    let full = Emit::parse(json!({"a": 1}), &full).unwrap();
    let wrong = Emit::parse(Value::Null, &wrong).unwrap();

    assert_eq!(full.id.unwrap().as_str(), "7");
    assert_eq!(full.channel, Channel::Named("paid".to_owned()));
    assert_eq!((full.summary.as_deref(), full.ts, full.delivery_ts), (Some("a sale"), Some(5), Some(9)));
    assert_eq!((wrong.id, wrong.channel, wrong.summary, wrong.ts), (None, Channel::Default, None, None));
    assert_eq!(Emit::parse(json!(1), &Value::Null).unwrap().channel, Channel::Default);
}

#[test]
fn ids_that_read_the_same_are_the_same() {
    let key = |value: Value| EmitKey::parse(&value).unwrap().map(|key| key.as_str().to_owned());

    assert_eq!(key(json!(7)), key(json!("7")));
    assert_eq!(key(json!(7.0)), key(json!("7")));
    assert_eq!(key(json!(1.5)).as_deref(), Some("1.5"));
    assert_eq!(key(json!(u64::MAX)).as_deref(), Some("18446744073709551615"));
    for none in [json!(""), json!(null)] {
        assert_eq!(key(none), None);
    }
}

#[test]
fn an_id_that_is_neither_text_nor_a_number_is_refused() {
    for (id, is) in [
        (json!(true), "a boolean"),
        (json!(false), "a boolean"),
        (json!([1]), "an array"),
        (json!({"a": 1}), "an object"),
    ] {
        let refused = Emit::parse(json!(1), &json!({"id": id})).unwrap_err();

        assert_eq!(refused, EmitError::Id { is });
        assert_eq!(refused.to_string(), format!("its id must be a string or a number, and is {is}"));
    }
}

#[test]
fn a_long_id_is_remembered_by_its_digest() {
    let key = |length: usize, end: &str| EmitKey::parse(&json!("x".repeat(length) + end)).unwrap().unwrap();

    assert_eq!(key(KEY_BYTES_MAXIMUM, "").as_str().len(), KEY_BYTES_MAXIMUM);
    assert!(key(KEY_BYTES_MAXIMUM, "y").as_str().starts_with("sha256:"));
    assert_eq!(key(9_999, "y"), key(9_999, "y"));
    assert_ne!(key(9_999, "y"), key(9_999, "z"));
}

#[test]
fn a_time_outside_the_calendar_is_ignored() {
    assert_eq!(emit(1, Some(8_640_000_000_000_000)).ts, Some(8_640_000_000_000_000));
    assert_eq!(emit(1, Some(8_640_000_000_000_002)).ts, None);
    assert_eq!(Emit::parse(json!(1), &json!({"ts": 1e300})).unwrap().ts, None);
}

#[test]
fn a_channel_is_named_within_bounds_and_outside_the_reserved_names() {
    assert_eq!(Channel::parse("default"), Ok(Channel::Default));
    assert!(matches!(Channel::parse("$errors"), Err(ChannelError::Reserved { .. })));
    assert!(Channel::parse(&"x".repeat(NAME_BYTES_MAXIMUM)).is_ok());
    let too_long = ChannelError::TooLong { size_bytes: 2001, limit_bytes: NAME_BYTES_MAXIMUM };
    assert_eq!(Channel::parse(&"x".repeat(2001)), Err(too_long));
    let check = |size: usize| Channel::parse(&"x".repeat(size)).unwrap().check(&Limits::default());
    assert_eq!(check(128), Ok(()));
    assert_eq!(check(129), Err(ChannelError::TooLong { size_bytes: 129, limit_bytes: 128 }));
}

#[test]
fn events_with_ts_leave_oldest_first_and_the_others_keep_their_place() {
    let emits = vec![emit(1, Some(30)), emit(2, None), emit(3, Some(10)), emit(4, None), emit(5, Some(20))];

    let emits = order(emits);

    assert_eq!(events(&emits), [3, 2, 5, 4, 1]);
}

#[test]
fn equal_times_keep_the_order_of_the_calls() {
    let emits = vec![emit(1, Some(5)), emit(2, Some(5)), emit(3, Some(1))];

    let emits = order(emits);

    assert_eq!(events(&emits), [3, 1, 2]);
}

proptest! {
    #[test]
    fn ordering_keeps_every_emit_and_sorts_the_dated(times in prop::collection::vec(prop::option::of(0_i64..9), 0..30)) {
        let before: Vec<Emit> = times.iter().enumerate().map(|(index, ts)| emit(index as i64, *ts)).collect();

        let after = order(before.clone());

        let dated: Vec<i64> = after.iter().filter_map(|emit| emit.ts).collect();
        prop_assert!(dated.is_sorted());
        for (old, new) in before.iter().zip(&after) {
            prop_assert_eq!(old.ts.is_none(), new.ts.is_none());
            prop_assert!(old.ts.is_some() || old == new);
        }
        let mut all = events(&after);
        all.sort_unstable();
        prop_assert_eq!(all, events(&before));
    }
}
