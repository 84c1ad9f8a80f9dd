//! Replies.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn reply(argument: Value) -> Result<Reply, Vec<Problem>> {
    parse(&argument, &Limits::default())
}

#[track_caller]
fn check_problems(argument: Value, expected: &[&str]) {
    let problems = reply(argument).unwrap_err();
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, expected);
}

#[test]
fn a_status_is_a_number_from_100_to_599() {
    for good in [json!(100), json!(200), json!(599), json!("201"), json!(204.0)] {
        assert!(reply(json!({"status": good})).is_ok(), "{good}");
    }
    for bad in [json!(99), json!(600), json!("ok"), json!(""), json!(200.5), json!(true), json!(-200), json!(65_736)] {
        assert!(reply(json!({"status": bad})).is_err(), "{bad}");
    }
}

#[test]
fn a_body_is_text_json_or_bytes() {
    let cases = [
        (json!("hi"), b"hi".to_vec(), Some("text/plain; charset=utf-8")),
        (json!({"a": 1}), br#"{"a":1}"#.to_vec(), Some("application/json")),
        (json!([1]), b"[1]".to_vec(), Some("application/json")),
        (json!({"$bytes": "/wA="}), vec![0xff, 0], Some("application/octet-stream")),
        (json!(null), Vec::new(), None),
    ];

    for (body, bytes, content_type) in cases {
        let reply = reply(json!({"status": 200, "body": body})).unwrap();
        assert_eq!(reply.body, bytes);
        assert_eq!(reply.headers.first().map(|(_, value)| value.as_str()), content_type);
    }
}

#[test]
fn headers_are_lower_case_and_the_given_content_type_wins() {
    let headers =
        json!({"Content-Type": "text/html", "X-N": 5, "Set-Cookie": ["a=1", "b=2"], "X-No": null, "Content-Length": 9});

    let reply = reply(json!({"status": 200, "headers": headers, "body": "<p>"})).unwrap();

    let expected = [("content-type", "text/html"), ("x-n", "5"), ("set-cookie", "a=1"), ("set-cookie", "b=2")];
    assert_eq!(reply.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn every_problem_is_reported_at_once() {
    check_problems(json!(null), &["respond"]);
    check_problems(json!({}), &["respond.status"]);
    check_problems(
        json!({"status": 1, "headers": {"a b": "x", "ok": "x\r\ny: z", "o": {}}, "body": {"$bytes": "?"}}),
        &["respond.status", "respond.headers.a b", "respond.headers.ok", "respond.headers.o", "respond.body"],
    );
    check_problems(json!({"status": 200, "headers": "x"}), &["respond.headers"]);
}

#[test]
fn a_body_is_bounded_in_size() {
    let limit = Limits::default().response_bytes;

    assert!(reply(json!({"status": 200, "body": "x".repeat(limit)})).is_ok());
    check_problems(json!({"status": 200, "body": "x".repeat(limit + 1)}), &["respond.body"]);
}

proptest! {
    #[test]
    fn no_header_value_smuggles_a_line(value in "\\PC{0,10}[\r\n\0]?\\PC{0,10}") {
        if let Ok(reply) = reply(json!({"status": 200, "headers": {"x": value}})) {
            prop_assert!(!reply.headers[0].1.contains(['\r', '\n', '\0']));
        }
    }
}
