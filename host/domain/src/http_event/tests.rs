//! Requests as events.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event(request: &Request<'_>) -> Value {
    super::event(request).to_value()
}

fn request<'a>(headers: &'a [(&'a str, &'a [u8])], body: &'a [u8]) -> Request<'a> {
    let (url, client_ip, interface) = ("http://x/a", "10.0.0.1", "http");
    Request { method: "POST", path: "/a", query: "", headers, body, url, client_ip, interface }
}

fn body_of(content_type: &str, body: &[u8]) -> Value {
    event(&request(&[("Content-Type", content_type.as_bytes())], body))["body"].clone()
}

#[test]
fn a_request_becomes_an_event() {
    let headers: [(&str, &[u8]); 2] = [("Content-Type", b"application/json"), ("X-Id", b"7")];
    let request = Request { query: "a=1&b=x%20y&a=2", ..request(&headers, br#"{"n": [1]}"#) };

    assert_eq!(
        event(&request),
        json!({
            "method": "POST", "path": "/a", "query": {"a": ["1", "2"], "b": "x y"},
            "headers": {"content-type": "application/json", "x-id": "7"},
            "bodyRaw": "{\"n\": [1]}", "body": {"n": [1]}, "url": "http://x/a", "client_ip": "10.0.0.1",
            "interface": "http",
        })
    );
}

#[test]
fn the_body_follows_its_content_type() {
    let cases: [(&str, &[u8], Value); 14] = [
        ("application/json; charset=utf-8", b"[1]", json!([1])),
        ("APPLICATION/JSON", b"null", json!(null)),
        ("application/vnd.api+json", b"{}", json!({})),
        ("application/json", b"\xef\xbb\xbf{}", json!({})),
        ("application/json", b"{oops", json!("{oops")),
        ("application/json", b"", json!("")),
        ("application/json", br#"["\ud800"]"#, json!(r#"["\ud800"]"#)),
        ("application/json", b"[1e999]", json!("[1e999]")),
        ("application/x-www-form-urlencoded", b"contact[id]=1&x=a+b", json!({"contact[id]": "1", "x": "a b"})),
        ("application/x-www-form-urlencoded", b"", json!({})),
        ("text/plain", b"{}", json!("{}")),
        ("application/xml", b"<a/>", json!("<a/>")),
        ("", b"raw", json!("raw")),
        ("multipart/form-data", b"no boundary", json!("no boundary")),
    ];

    for (content_type, body, expected) in cases {
        assert_eq!(body_of(content_type, body), expected, "{content_type} {}", String::from_utf8_lossy(body));
    }
}

#[test]
fn a_body_that_is_not_what_its_content_type_says_tells_why() {
    let deep = "[".repeat(101) + &"]".repeat(101);
    let error_of = |content_type: &str, body: &[u8]| {
        let event = event(&request(&[("content-type", content_type.as_bytes())], body));
        event.get("body_error").and_then(Value::as_str).map(str::to_owned)
    };
    for (content_type, body, says) in [
        (
            "application/json",
            "{\n  oops".as_bytes(),
            "not the JSON that its content type says it is: key must be a string at line 2 column 3",
        ),
        ("text/json", b"{} {}", "trailing characters at line 1 column 4"),
        ("application/vnd.api+json", b"[1", "EOF while parsing a list at line 1 column 2"),
        ("application/json", br#"["\ud800"]"#, "at line 1 column"),
        ("application/json", b"[1e999]", "number out of range at line 1 column"),
        ("application/json", deep.as_bytes(), "nests deeper than 99 levels at line 1 column"),
        ("application/json", b"[\"\xff\"]", "it is not UTF-8 at byte 3"),
        ("application/x-www-form-urlencoded", b"\xff", "not the form that its content type says it is: it is not text"),
        ("multipart/form-data", b"no boundary", "its parts cannot be told apart"),
    ] {
        let error = error_of(content_type, body).unwrap_or_default();

        assert!(error.contains(says), "{content_type} {}: {error}", String::from_utf8_lossy(body));
    }
    for (content_type, body) in [
        ("application/json", b"{\"a\": 1, \"a\": 2}".as_slice()),
        ("application/json", b""),
        ("text/plain", b"{"),
        ("multipart/form-data; boundary=x", b""),
    ] {
        assert_eq!(error_of(content_type, body), None, "{content_type}");
    }
}

#[test]
fn a_binary_body_arrives_as_base64_and_says_so() {
    let event = event(&request(&[("content-type", b"image/png")], &[0xff, 0x00]));

    assert_eq!(event["bodyRaw"], "/wA=");
    assert_eq!(event["body"], "/wA=");
    assert_eq!(event["is_base64"], true);
}

#[test]
fn bytes_that_are_text_by_accident_arrive_as_base64() {
    let is_base64 = |body: &[u8]| event(&request(&[], body)).get("is_base64").is_some();

    assert!(is_base64(&[0; 9]));
    assert!(is_base64(b"\x01\x02ab"));
    // What some protocols put between their lines is text still.
    assert!(!is_base64(b"\x0bMSH|^~\\&|LAB\r\nPID|1||123\r\n\x1c\r"));
    assert!(!is_base64(b"\"\"\"\"\n\n\n\n"));
}

#[test]
fn a_body_nests_one_level_less_than_an_event() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let body = |depth| body_of("application/json", nested(depth).as_bytes());

    assert!(body(NESTING_MAXIMUM - 1).is_array());
    assert!(body(NESTING_MAXIMUM).is_string());
}

#[test]
fn repeated_headers_are_joined_under_their_lower_case_name() {
    let headers: [(&str, &[u8]); 5] =
        [("X-A", b"1"), ("x-a", b"2"), ("Cookie", b"a=1"), ("cookie", b"b=2"), ("X-Latin", b"caf\xe9")];

    let event = event(&request(&headers, b""));

    assert_eq!(event["headers"], json!({"x-a": "1, 2", "cookie": "a=1; b=2", "x-latin": "café"}));
}

#[test]
fn a_multipart_body_becomes_an_object() {
    let body = b"preamble\r\n--B\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHi\r\nthere\r\n\
        --B  \r\ncontent-disposition: form-data; filename=\"a \\\"b\\\".txt\"; name=file\r\nContent-Type: text/plain\r\n\r\nhello\r\n\
        --B\r\nContent-Disposition: form-data; name=\"bin\"; filename=\"x\"\r\n\r\n\xff\x00\r\n\
        --B\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n\r\n--B--\r\nepilogue";

    let expected = json!({
        "title": ["Hi\r\nthere", ""],
        "file": {"filename": "a \"b\".txt", "content_type": "text/plain", "content": "hello"},
        "bin": {"filename": "x", "content_type": "application/octet-stream", "content": "/wA=", "is_base64": true},
    });
    assert_eq!(body_of("multipart/form-data; charset=x; boundary=\"B\"", body), expected);
    assert_eq!(body_of("multipart/form-data; boundary=B", b"--B--\r\n"), json!({}));
}

#[test]
fn a_broken_multipart_body_stays_raw() {
    for broken in [
        "",
        "--B",
        "--B\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
        "--B\r\nA: b\r\n\r\nx",
    ] {
        assert_eq!(body_of("multipart/form-data; boundary=B", broken.as_bytes()), json!(broken));
    }
}

#[test]
fn a_multipart_body_has_a_bounded_number_of_parts() {
    let body = |parts: usize| {
        let part = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
        format!("{}--B--", part.repeat(parts))
    };

    assert_eq!(body_of("multipart/form-data; boundary=B", body(1000).as_bytes())["a"].as_array().unwrap().len(), 1000);
    assert!(body_of("multipart/form-data; boundary=B", body(1001).as_bytes()).is_string());
}

proptest! {
    #[test]
    fn any_bytes_make_an_event(body in prop::collection::vec(any::<u8>(), 0..200), which in 0..4_usize, query in ".{0,30}") {
        let types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=-", "x"];
        let headers = [("content-type", types[which].as_bytes())];
        let request = Request { query: &query, ..request(&headers, &body) };

        let event = event(&request);

        let raw = event["bodyRaw"].as_str().unwrap();
        let bytes = if event.get("is_base64").is_some() { STANDARD.decode(raw).unwrap() } else { raw.as_bytes().to_vec() };
        prop_assert_eq!(bytes, body);
    }

    #[test]
    fn an_event_is_no_larger_than_its_body_allows(
        pieces in prop::collection::vec((0..14_usize, 1..40_usize), 1..12),
        which in 0..4_usize,
    ) {
        const PIECES: [&[u8]; 14] = [b"\0", b"\x1f", b"\"", b"\\", b"\n", b"a", b"&", b"=", b"%01", b"\xff", b"\xc3\xa9", b"[1e20,",
            b"\r\n--B\r\ncontent-disposition: x; name=a\r\n\r\n", b"\r\n--B\r\ncontent-disposition: x; filename=; name=b\r\n\r\n"];
        let types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=B", "x"];
        let mut body: Vec<u8> = pieces.iter().flat_map(|(piece, times)| PIECES[*piece].repeat(*times)).collect();
        if which == 2 {
            body.extend_from_slice(b"\r\n--B--");
        }
        let headers = [("content-type", types[which].as_bytes())];

        let event = super::event(&request(&headers, &body));

        // Beside the body stand some two hundred bytes, and as many again when it is not what its content type says.
        prop_assert!(event.as_str().len() <= 6 * body.len() + 500, "{}", event.as_str().len());
    }

    #[test]
    fn multipart_fields_come_back(values in prop::collection::vec("[a-z\r\n-]{0,20}", 1..5)) {
        let mut body = String::new();
        for (index, value) in values.iter().enumerate() {
            body += &format!("--XyZ\r\nContent-Disposition: form-data; name=\"f{index}\"\r\n\r\n{value}\r\n");
        }
        body += "--XyZ--\r\n";

        let parsed = body_of("multipart/form-data; boundary=XyZ", body.as_bytes());

        for (index, value) in values.iter().enumerate() {
            prop_assert_eq!(&parsed[format!("f{index}")], value);
        }
    }
}
