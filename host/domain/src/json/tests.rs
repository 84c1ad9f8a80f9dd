//! JSON that passes through.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::limits::NESTING_MAXIMUM;

fn parse(text: &[u8]) -> Result<&RawValue, JsonFault> {
    Json::parse(text, NESTING_MAXIMUM)
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn what_nests_too_deep_for_some_reader_is_refused_by_all() {
    assert!(parse(nested(NESTING_MAXIMUM).as_bytes()).is_ok());
    assert!(parse(nested(NESTING_MAXIMUM + 1).as_bytes()).is_err());
    assert!(parse(nested(1_000_000).as_bytes()).is_err());
}

#[test]
fn what_some_reader_would_choke_on_is_refused() {
    let refused = ["1e999", r#"["\ud800"]"#, r#"{"\udc00":1}"#, r#""\ud800\ud800""#, "[1", "", "1 2", "nul"];
    let taken = [r#""\ud83d\ude00 \u00e9""#, "1e308", "12345678901234567890123", "[-0, 1E-999]", " null "];

    for text in refused {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
    for text in taken {
        let parsed = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(serde_json::from_str::<Value>(parsed.get()).is_ok(), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_taken_can_be_read(text in r#"[\[\]{}:,"\\udD8c0-9a-f.eE+ -]{0,24}"#) {
        if let Ok(parsed) = parse(text.as_bytes()) {
            prop_assert!(serde_json::from_str::<Value>(parsed.get()).is_ok());
        }
    }
}

#[test]
fn brackets_in_texts_are_not_levels() {
    let text = json!({"a": "[".repeat(200), "b\\\"[": "\\\"{"}).to_string();

    assert!(parse(text.as_bytes()).is_ok());
}

#[test]
fn the_text_stays_as_it_is() {
    let json = Json::from(parse(b"{\"n\": 1.50,  \"n\": 12345678901234567890}").unwrap().to_owned());

    assert_eq!(serde_json::to_string(&json).unwrap(), "{\"n\": 1.50,  \"n\": 12345678901234567890}");
}

#[test]
fn it_can_be_read_inside_of_tagged_enums() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { json: Json },
    }
    let tagged = Tagged::One { json: json!({"a": [1, null]}).into() };

    let read: Tagged = serde_json::from_str(&serde_json::to_string(&tagged).unwrap()).unwrap();

    assert_eq!(read, tagged);
}
