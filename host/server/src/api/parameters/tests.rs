//! Tests of parameters.

use serde_json::json;

use super::{Parameters, Refusal, parse_body, parse_path, parse_query};

fn parameters(query: &str, body: serde_json::Value) -> Parameters {
    Parameters::new(parse_query(query).unwrap(), Some(&body)).unwrap()
}

#[test]
fn the_body_wins_over_the_query_string_and_null_does_not() {
    let both = parameters("a=query&b=query&c=query", json!({"a": "body", "b": null}));

    assert_eq!(both.text("a").unwrap().as_deref(), Some("body"));
    assert_eq!(both.text("b").unwrap().as_deref(), Some("query"));
    assert_eq!(both.text("c").unwrap().as_deref(), Some("query"));
}

#[test]
fn query_strings_are_decoded_and_must_be_utf8() {
    let parsed = parse_query("name=a+b%2Bc&flag&&x=1=2").unwrap();

    assert_eq!(json!(parsed), json!({"name": "a b+c", "flag": "", "x": "1=2"}));
    assert!(matches!(parse_query("a=%ff"), Err(Refusal::NotUtf8 { part: "query string" })));
}

#[test]
fn a_path_is_decoded_part_by_part_and_one_slash_at_the_end_is_ignored() {
    assert_eq!(parse_path("/v1/a%2Fb/").unwrap(), ["v1", "a/b"]);
    assert_eq!(parse_path("/v1//x//").unwrap(), ["v1", "", "x", ""]);
    assert!(parse_path("/%c3%28").is_err());
}

#[test]
fn malformed_json_tells_where() {
    let error = parse_body(b"{\n  \"a\": }").unwrap_err();

    assert!(matches!(error, Refusal::MalformedJson { line: 2, column: 8, .. }), "{error:?}");
    assert!(parse_body(b"\xff").is_err());
    assert_eq!(parse_body(b"").unwrap(), None);
}

#[test]
fn wrong_types_name_the_parameter() {
    let wrong = parameters("", json!({"text": 1, "flag": "yes", "number": -1, "object": [], "texts": {"a": 1}}));

    let messages = [
        wrong.text("text").unwrap_err(),
        wrong.flag("flag").unwrap_err(),
        wrong.whole_number("number").unwrap_err(),
        wrong.object("object").unwrap_err(),
        wrong.texts("texts").unwrap_err(),
        wrong.required_text("missing").unwrap_err(),
    ]
    .map(|error| error.to_string());

    assert_eq!(
        messages,
        [
            "`text`: must be a string",
            "`flag`: must be true or false",
            "`number`: must be a whole number of at least 0",
            "`object`: must be an object",
            "`texts`: must be an object of strings",
            "`missing` is required",
        ]
    );
}
