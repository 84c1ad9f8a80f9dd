//! Headers: what is sent, what is left out, what is refused.

use http::header::CONTENT_LENGTH;

use super::*;

const URL: &str = "https://api.example.com/x";

fn prepare_all(given: &[(&str, &str)], limit_bytes: usize) -> Result<HeaderMap, Error> {
    let given: Vec<_> =
        given.iter().map(|(name, value)| ((*name).to_owned(), Bytes::from((*value).to_owned()))).collect();
    prepare(&given, &URL.parse().unwrap(), &HeaderValue::from_static("agent"), true, limit_bytes)
}

#[test]
fn line_breaks_and_other_controls_are_refused_everywhere() {
    for value in ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\n", "\r\n", "a\x7f", "\x01"] {
        let error = prepare_all(&[("x-a", value)], 1 << 16).unwrap_err();
        assert_eq!(error.code(), "invalid_header", "{value:?}");
    }
    for name in ["", "a b", "a:", "a\r\nb", "a\0", "ä", "(a)"] {
        let error = prepare_all(&[(name, "x")], 1 << 16).unwrap_err();
        assert_eq!(error.code(), "invalid_header", "{name:?}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn headers_of_the_connection_are_left_out() {
    for name in CONNECTION_HEADERS.iter().chain(&["Content-Length", "TRANSFER-ENCODING"]) {
        let headers = prepare_all(&[(name, "1")], 1 << 16).unwrap();
        assert!(!headers.contains_key(*name), "{name}");
    }
    assert!(!prepare_all(&[], 1 << 16).unwrap().contains_key(CONTENT_LENGTH));
}

#[test]
fn order_duplicates_and_foreign_bytes_are_kept() {
    let headers = prepare_all(&[("B", "1"), ("a", " é\t"), ("b", "2")], 1 << 16).unwrap();

    let lines: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    assert_eq!(lines[..3], [("b", &b"1"[..]), ("b", b"2"), ("a", "é".as_bytes())]);
}

#[test]
fn defaults_give_way_to_the_caller() {
    let headers = prepare_all(&[("user-agent", "mine"), ("accept", "text/html")], 1 << 16).unwrap();

    assert_eq!(headers.get_all(USER_AGENT).iter().collect::<Vec<_>>(), ["mine"]);
    assert_eq!(headers[ACCEPT], "text/html");
    assert_eq!(headers[ACCEPT_ENCODING], "gzip, deflate, br");
}

#[test]
fn a_host_header_must_agree_with_the_url() {
    for host in ["api.example.com", "API.example.com", "api.example.com:443"] {
        assert!(!prepare_all(&[("host", host)], 1 << 16).unwrap().contains_key(HOST), "{host}");
    }
    for host in
        ["other.example.com", "api.example.com:80", "", "a@api.example.com", "api.example.com/x", "169.254.169.254"]
    {
        let error = prepare_all(&[("Host", host)], 1 << 16).unwrap_err();
        assert_eq!(error.code(), "invalid_header", "{host}");
    }
}

#[test]
fn headers_are_limited_at_the_byte() {
    let size_bytes = "user-agentagentaccept*/*accept-encodinggzip, deflate, br".len() + 3 * LINE_OVERHEAD_BYTES;

    assert!(prepare_all(&[], size_bytes).is_ok());
    assert_eq!(prepare_all(&[], size_bytes - 1).unwrap_err().code(), "too_large");
}

#[test]
fn headers_are_limited_in_number() {
    let check = |count| {
        let names: Vec<_> = (0..count).map(|number| format!("x-{number}")).collect();
        let given: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        prepare_all(&given, usize::MAX).map_err(|error| error.code())
    };

    assert_eq!(check(MAX_HEADERS).unwrap().len(), MAX_HEADERS + 3);
    assert_eq!(check(MAX_HEADERS + 1).unwrap_err(), "too_large");
    assert_eq!(check(40_000).unwrap_err(), "too_large");
}

#[test]
fn credentials_of_the_url_become_basic_authorization() {
    let check = |url: &str, given: Option<&'static str>, has_priority| {
        let mut url = Url::parse(url).unwrap();
        let mut headers = HeaderMap::new();
        given.map(|value| headers.insert(AUTHORIZATION, HeaderValue::from_static(value)));
        take_credentials(&mut url, &mut headers, has_priority);
        assert_eq!(url.as_str(), "http://a/");
        headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned())
    };

    assert_eq!(check("http://user:p%40ss@a/", None, false).as_deref(), Some("Basic dXNlcjpwQHNz"));
    assert_eq!(check("http://user@a/", None, false).as_deref(), Some("Basic dXNlcjo="));
    assert_eq!(check("http://:pw@a/", None, false).as_deref(), Some("Basic OnB3"));
    assert_eq!(check("http://user@a/", Some("Bearer x"), false).as_deref(), Some("Bearer x"));
    assert_eq!(check("http://user@a/", Some("Bearer x"), true).as_deref(), Some("Basic dXNlcjo="));
    assert_eq!(check("http://a/", None, false), None);
}
