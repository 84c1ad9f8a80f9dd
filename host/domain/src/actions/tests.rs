//! Effects of actions.

use serde_json::json;

use super::*;

fn effect(call: &str, arguments: Value) -> Result<Effect, Vec<Problem>> {
    parse(call, arguments.as_array().unwrap(), &Limits::default())
}

#[track_caller]
fn check_problems(call: &str, arguments: Value, expected: &[&str]) {
    let problems = effect(call, arguments).unwrap_err();
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, expected, "{problems:?}");
}

#[test]
fn an_export_has_a_name_of_its_own() {
    let exported = Effect::Export { name: "total".to_owned(), value: json!(5) };

    assert_eq!(effect("export", json!(["total", 5])), Ok(exported));
    check_problems("export", json!(["$return_value", 5]), &["$.export"]);
    check_problems("export", json!(["", 5]), &["$.export"]);
    check_problems("export", json!([]), &["$.export"]);
}

#[test]
fn a_workflow_ends_with_or_without_a_reason() {
    assert_eq!(effect("flow.exit", json!(["done"])), Ok(Effect::Exit { reason: Some("done".to_owned()) }));
    assert_eq!(effect("flow.exit", json!([])), Ok(Effect::Exit { reason: None }));
    check_problems("flow.exit", json!([5]), &["$.flow.exit"]);
}

#[test]
fn an_answer_is_checked_as_that_of_an_interface() {
    assert!(matches!(
        effect("respond", json!([{"status": "201", "body": {}}])),
        Ok(Effect::Respond(Reply { status: 201, .. }))
    ));
    check_problems("respond", json!([{"status": 600}]), &["respond.status"]);
}

#[test]
fn http_is_sent_with_a_method_that_fits_its_data() {
    let sent = |argument: Value| match effect("send.http", json!([argument])) {
        Ok(Effect::Http(sent)) => (sent.method, sent.headers.len(), sent.body),
        other => panic!("{other:?}"),
    };

    assert_eq!(sent(json!({"url": "https://x.test"})), ("GET".to_owned(), 0, Vec::new()));
    assert_eq!(
        sent(json!({"url": "https://x.test", "data": {"a": 1}})),
        ("POST".to_owned(), 1, br#"{"a":1}"#.to_vec())
    );
    assert_eq!(sent(json!({"url": "https://x.test", "method": "put", "data": "x"})).0, "PUT");
    check_problems(
        "send.http",
        json!([{"url": "x", "method": "BREW", "headers": 5, "data": {"$bytes": 1}}]),
        &["$.send.http.url", "$.send.http.method", "$.send.http.headers", "$.send.http.data"],
    );
    check_problems("send.http", json!([{}]), &["$.send.http.url"]);
    check_problems("send.http", json!(["https://x.test"]), &["$.send.http"]);
}

#[test]
fn an_email_has_a_subject_and_a_text() {
    let email = |argument: Value| match effect("send.email", json!([argument])) {
        Ok(Effect::Email(email)) => email.to,
        other => panic!("{other:?}"),
    };

    assert_eq!(email(json!({"subject": "s", "text": "t"})), Vec::<String>::new());
    assert_eq!(email(json!({"subject": "s", "html": "t", "to": "a@b.c"})), ["a@b.c"]);
    assert_eq!(email(json!({"subject": "s", "text": "t", "to": ["a@b.c", "d@e.f"]})), ["a@b.c", "d@e.f"]);
    check_problems("send.email", json!([{}]), &["$.send.email.subject", "$.send.email.text"]);
    check_problems(
        "send.email",
        json!([{"subject": "a\r\nBcc: x@y.z", "text": "t", "to": "a b@c"}]),
        &["$.send.email.to", "$.send.email.subject"],
    );
}

#[test]
fn an_s3_object_has_bucket_name_and_payload() {
    let expected =
        S3Object { bucket: "b".to_owned(), name: ObjectName::Key("k".to_owned()), payload: b"x".to_vec(), auth: None };

    assert_eq!(effect("send.s3", json!([{"bucket": "b", "key": "k", "payload": "x"}])), Ok(Effect::S3(expected)));
    assert!(effect("send.s3", json!([{"bucket": "b", "prefix": "p/", "payload": {"$bytes": "AA=="}}])).is_ok());
    check_problems("send.s3", json!([{}]), &["$.send.s3.bucket", "$.send.s3.key", "$.send.s3.payload"]);
    check_problems("send.s3", json!([{"bucket": "b", "key": "k", "prefix": "p", "payload": 1}]), &["$.send.s3.key"]);
}

#[test]
fn an_action_emits_as_a_source_does() {
    let Ok(Effect::Emit(emit)) = effect("send.emit", json!([{"a": 1}, {"summary": "s"}])) else { panic!() };

    assert_eq!((emit.event.to_value(), emit.summary.as_deref()), (json!({"a": 1}), Some("s")));
    check_problems("send.emit", json!([1, {"name": "$logs"}]), &["$.send.emit.name"]);
}

#[test]
fn a_server_sent_event_has_channel_and_payload() {
    let expected = Effect::Sse { channel: "c".to_owned(), payload: json!([1]) };

    assert_eq!(effect("send.sse", json!([{"channel": "c", "payload": [1]}])), Ok(expected));
    check_problems("send.sse", json!([{}]), &["$.send.sse.channel", "$.send.sse.payload"]);
}

#[test]
fn an_unknown_function_is_named() {
    let problems = effect("send.htp", json!([])).unwrap_err();

    assert_eq!(problems[0].to_string(), "$.send.htp: there is no such function; did you mean `send.http`?");
}
