//! Tests of deliveries.

use proptest::prelude::*;

use super::*;

#[test]
fn an_excerpt_is_one_line_of_text_without_control_characters() {
    let long = "é".repeat(400);
    let table: &[(&[u8], Option<&str>)] = &[
        (b"", None),
        (b" \r\n\t ", None),
        (b"ok", Some("ok")),
        (b"line one\r\n  line two\n", Some("line one line two")),
        (b"\x1b[2J\x1b[31mred\x07", Some("[2J[31mred")),
        ("a\u{202e}b\u{2066}c\u{85}d\u{feff}".as_bytes(), Some("abc d")),
        (b"\x1b \x07", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"text\0binary", None),
        (b"{\"error\": \"no\"}", Some("{\"error\": \"no\"}")),
        (long.as_bytes(), Some(&"é".repeat(256))),
        // The 512th byte is in the middle of a character.
        (&[b"x", long.as_bytes()].concat(), Some(&format!("x{}", "é".repeat(255)))),
    ];

    for (body, expected) in table {
        assert_eq!(excerpt(body).as_deref(), *expected, "{body:?}");
    }
}

proptest! {
    #[test]
    fn an_excerpt_is_bounded_and_shows_nothing_hidden(body in proptest::collection::vec(any::<u8>(), 0..2000)) {
        if let Some(text) = excerpt(&body) {
            prop_assert!(text.len() <= EXCERPT_BYTES && !text.is_empty());
            prop_assert!(!text.chars().any(is_hidden));
        }
    }
}

#[test]
fn an_outage_begins_with_the_first_failure_and_ends_with_a_success() {
    let failure = |at_ms| Failure { at_ms, status: Some(500), error: None };

    let well = Health::default().after_success(1000).unwrap();
    assert_eq!(well.after_success(1999), None);
    let first = well.after_failure(failure(5000));
    let second = first.after_failure(failure(9000));
    assert_eq!((second.failing_since_ms, second.last_failure.clone()), (Some(5000), Some(failure(9000))));
    assert_eq!((second.outage_ms(), second.last_success_ms), (Some(5000 + OUTAGE_MS), Some(1000)));
    // Also when the last success was noted a moment ago.
    let again = Health { last_success_ms: Some(9500), ..second }.after_success(9600).unwrap();
    assert_eq!((again.failing_since_ms, again.outage_ms(), again.last_success_ms), (None, None, Some(9600)));
    assert_eq!(again.last_failure, Some(failure(9000)));
}
