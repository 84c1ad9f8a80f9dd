//! Methods and URLs as callers write them.

use proptest::prelude::*;

use super::*;
use crate::testing::code;

#[test]
fn common_methods_are_written_in_capitals_and_others_kept() {
    for (given, sent) in [("get", "GET"), ("Post", "POST"), ("patch", "patch"), ("PROPFIND", "PROPFIND")] {
        assert_eq!(Request::new(given, "http://example.com").unwrap().method.as_str(), sent);
    }
}

#[test]
fn methods_that_open_tunnels_or_echo_are_refused() {
    for method in ["CONNECT", "trace", "TRACK", "", "GET /x HTTP/1.1\r\nA: b", "a b"] {
        assert_eq!(code(Request::new(method, "http://example.com")), "invalid_method", "{method:?}");
    }
}

#[test]
fn only_http_and_https_are_urls() {
    for url in
        ["ftp://a/", "file:///etc/passwd", "data:,x", "javascript:1", "ws://a", "gopher://a", "", "x", "/a", "http://"]
    {
        assert_eq!(code(Request::get(url)), "invalid_url", "{url:?}");
    }
}

#[test]
fn messages_about_urls_hold_no_secrets() {
    for url in [
        "ftp://user:secret@a/x?key=secret#secret",
        "user:secret@a",
        "http://u:secret@[x]/",
        "http://u:se@cret@:x/",
        "?secret",
    ] {
        let message = Request::get(url).err().unwrap().to_string();
        assert!(!message.contains("secret") && !message.contains("se@"), "{message}");
    }
    assert!(Request::get(&"x".repeat(1 << 20)).err().unwrap().to_string().len() < 300);
}

proptest! {
    #[test]
    fn parsed_urls_hold_no_line_breaks(path in "\\PC*[\r\n\t\0]*\\PC*") {
        if let Ok(request) = Request::get(&format!("http://example.com/{path}")) {
            prop_assert!(!request.url.as_str().contains(['\r', '\n', '\0', ' ']));
        }
    }
}
