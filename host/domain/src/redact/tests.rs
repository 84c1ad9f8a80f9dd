//! Tests of redaction.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn redaction(paths: &[&str]) -> Redaction {
    Redaction::parse(paths.iter().copied()).unwrap()
}

#[test]
fn a_path_is_keys_with_dots_between_them() {
    for good in ["a", "body.password", "headers.authorization", "*.token", "**.password", "a.*.b", &"k".repeat(256)] {
        assert_eq!(String::from(Path::parse(good).unwrap()), good);
    }
    for bad in ["", ".", "a.", ".a", "a..b", "**", "a.**", "**.**", &"k".repeat(257)] {
        assert_eq!(Path::parse(bad), Err(RedactionError::Path), "{bad}");
    }
    assert!(Redaction::parse(["a"; PATHS_MAXIMUM]).is_ok());
    assert_eq!(Redaction::parse(["a"; PATHS_MAXIMUM + 1]), Err(RedactionError::TooMany { found: PATHS_MAXIMUM + 1 }));
}

#[test]
fn what_a_path_names_is_hidden_and_the_rest_is_shown() {
    let table = [
        ("password", json!({"password": "s3cret", "n": 1}), json!({"password": REDACTED, "n": 1})),
        ("a.b", json!({"a": {"b": {"c": [1]}, "d": 2}, "b": 3}), json!({"a": {"b": REDACTED, "d": 2}, "b": 3})),
        // Spelt otherwise.
        (
            "headers.Authorization",
            json!({"headers": {"authorization": "x"}}),
            json!({"headers": {"authorization": REDACTED}}),
        ),
        // Lists are entered.
        (
            "users.key",
            json!({"users": [{"key": 1}, {"id": 2}, 3]}),
            json!({"users": [{"key": REDACTED}, {"id": 2}, 3]}),
        ),
        (
            "*.key",
            json!({"a": {"key": 1}, "b": {"key": 2}, "key": 3}),
            json!({"a": {"key": REDACTED}, "b": {"key": REDACTED}, "key": 3}),
        ),
        (
            "**.key",
            json!({"key": 1, "a": [{"b": {"key": {"key": 2}}}]}),
            json!({"key": REDACTED, "a": [{"b": {"key": REDACTED}}]}),
        ),
        ("a.b", json!({"a": "text"}), json!({"a": "text"})),
        ("a", json!(null), json!(null)),
        // The raw forms of a body and of a query hold the same.
        (
            "body.pin",
            json!({"body": {"pin": 1}, "bodyRaw": "{\"pin\":1}", "method": "POST"}),
            json!({"body": {"pin": REDACTED}, "bodyRaw": REDACTED, "method": "POST"}),
        ),
        ("body.pin", json!({"body": {"n": 1}, "bodyRaw": "n=1"}), json!({"body": {"n": 1}, "bodyRaw": "n=1"})),
        (
            "**.pin",
            json!({"body": [{"pin": 1}], "bodyRaw": "x"}),
            json!({"body": [{"pin": REDACTED}], "bodyRaw": REDACTED}),
        ),
        (
            "query.t",
            json!({"query": {"t": "1"}, "url": "https://a/?t=1", "path": "/?t=1"}),
            json!({"query": {"t": REDACTED}, "url": REDACTED, "path": REDACTED}),
        ),
    ];

    for (path, mut value, expected) in table {
        redaction(&[path]).apply(&mut value, &mut Hidden::default());
        assert_eq!(value, expected, "{path}");
    }
}

#[test]
fn what_was_hidden_is_masked_wherever_it_occurs() {
    let mut hidden = Hidden::default();
    let mut input = json!({"card": {"number": 4242_4242, "name": "Ada L.", "cvc": "123"}});
    redaction(&["card"]).apply(&mut input, &mut hidden);
    let mut shown = json!({
        "log": "charged 42424242 of Ada L., 123",
        "Ada L.": [42_424_242, 7, true],
        "other": "Ada",
    });

    hidden.mask(&mut shown);

    // Too short to be told from chance.
    let expected =
        json!({"log": "charged ******** of ********, 123", "********": ["********", 7, true], "other": "Ada"});
    assert_eq!((input, shown), (json!({"card": REDACTED}), expected));
}

proptest! {
    #[test]
    fn a_hidden_text_is_in_nothing_that_was_masked(secret in "[a-z]{4,12}", around in "[a-z ]{0,20}") {
        let mut hidden = Hidden::default();
        let mut input = json!({"a": secret.clone()});
        redaction(&["a"]).apply(&mut input, &mut hidden);
        let mut shown = json!([format!("{around}{secret}{around}"), {"k": secret.clone()}]);
        hidden.mask(&mut shown);
        prop_assert!(!shown.to_string().contains(&secret) && !input.to_string().contains(&secret));
    }
}
