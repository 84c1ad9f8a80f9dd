//! Redirects by table.

use http::HeaderValue;

use super::*;

fn hop(method: &str, body: Body) -> Hop {
    let mut headers = HeaderMap::new();
    for name in ["authorization", "cookie", "proxy-authorization", "content-type", "content-encoding", "x-kept"] {
        headers.insert(name, HeaderValue::from_static("v"));
    }
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    Hop {
        method,
        url: "https://a.example/dir/page?q#part".parse().unwrap(),
        headers,
        body,
        body_error: BodyError::default(),
        confidential: Vec::new(),
    }
}

#[test]
fn the_method_changes_as_the_fetch_standard_says() {
    for (status, method, next) in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "PATCH", "PATCH"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (303, "HEAD", "HEAD"),
        (303, "GET", "GET"),
        (301, "HEAD", "HEAD"),
        (307, "DELETE", "DELETE"),
    ] {
        let mut hop = hop(method, Body::from("x"));

        hop.advance(StatusCode::from_u16(status).unwrap(), "https://a.example/".parse().unwrap()).unwrap();

        assert_eq!(hop.method.as_str(), next, "{status} {method}");
        let has_content_headers =
            hop.headers.contains_key("content-type") && hop.headers.contains_key("content-encoding");
        assert_eq!(has_content_headers, method == next, "{status} {method}");
    }
}

#[test]
fn credentials_stay_with_their_origin() {
    for (target, is_same_origin) in [
        ("https://a.example/other", true),
        ("https://a.example:443/", true),
        ("https://a.example:444/", false),
        ("http://a.example/", false),
        ("https://b.example/", false),
        ("https://sub.a.example/", false),
        ("https://a.example./", false),
    ] {
        let mut hop = hop("GET", Body::empty());

        hop.advance(StatusCode::FOUND, target.parse().unwrap()).unwrap();

        for name in CREDENTIALS {
            assert_eq!(hop.headers.contains_key(&name), is_same_origin, "{target} {name}");
        }
        assert!(hop.headers.contains_key("x-kept"));
    }
}

#[test]
fn credentials_in_the_location_are_used_and_taken_out_of_the_url() {
    let mut hop = hop("GET", Body::empty());

    hop.advance(StatusCode::FOUND, "https://user:pw@b.example/".parse().unwrap()).unwrap();

    assert_eq!(hop.headers["authorization"], "Basic dXNlcjpwdw==");
    assert_eq!(hop.url.as_str(), "https://b.example/");
}

#[test]
fn a_spent_stream_cannot_be_sent_again() {
    let stream = || Body::stream(futures_util::stream::empty::<Result<bytes::Bytes, std::io::Error>>());
    let check = |status, method| {
        let mut hop = hop(method, stream());
        hop.body.payload(10, &BodyError::default()).unwrap();
        hop.advance(status, "https://a.example/".parse().unwrap()).map_err(|error| error.code())
    };

    assert_eq!(check(StatusCode::TEMPORARY_REDIRECT, "POST"), Err("body_not_replayable"));
    assert_eq!(check(StatusCode::FOUND, "PUT"), Err("body_not_replayable"));
    assert_eq!(check(StatusCode::SEE_OTHER, "POST"), Ok(()));
}

#[test]
fn the_location_is_read_relative_to_the_page_and_keeps_the_fragment() {
    let check = |location: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_bytes(location.as_bytes()).unwrap());
        super::location(StatusCode::FOUND, &headers, &hop("GET", Body::empty()).url)
            .map(|url| url.unwrap().to_string())
            .map_err(|error| error.code())
    };

    assert_eq!(check("next").as_deref(), Ok("https://a.example/dir/next#part"));
    assert_eq!(check("/x#own").as_deref(), Ok("https://a.example/x#own"));
    assert_eq!(check("//b.example").as_deref(), Ok("https://b.example/#part"));
    assert_eq!(check("").as_deref(), Ok("https://a.example/dir/page?q#part"));
    assert_eq!(check("/ü").as_deref(), Ok("https://a.example/%C3%BC#part"));
    assert_eq!(check("ftp://b.example/"), Err("invalid_url"));
    assert_eq!(check("file:///etc/passwd"), Err("invalid_url"));
    assert_eq!(check("http://[fe80::1%eth0]/"), Err("invalid_url"));
}

#[test]
fn other_answers_are_no_redirects() {
    let url = "http://a/".parse().unwrap();
    let mut headers = HeaderMap::new();
    assert_eq!(location(StatusCode::FOUND, &headers, &url).unwrap(), None);

    headers.insert(LOCATION, HeaderValue::from_static("/"));
    for status in [200, 201, 300, 304, 305, 306, 400] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(location(status, &headers, &url).unwrap(), None, "{status}");
    }
}
