//! Heads of answers.

use proptest::prelude::*;

use super::*;

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn sent(headers: &[(&str, &str)], origin: Origin) -> Vec<(String, String)> {
    head(200, pairs(headers), origin).unwrap().headers
}

const SANDBOX: (&str, &str) = ("content-security-policy", "sandbox");

#[test]
fn what_frames_a_message_or_is_of_the_connection_is_not_sent() {
    let given = [
        ("Content-Length", "1"),
        ("transfer-encoding", "chunked"),
        ("Connection", "keep-alive, X-Hop"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authenticate", "Basic"),
        ("proxy-connection", "close"),
        ("TE", "trailers"),
        ("Trailer", "x"),
        ("Upgrade", "h2c"),
        ("x-hop", "nominated above"),
        ("X-Kept", "1"),
    ];

    for origin in [Origin::Shared, Origin::Own] {
        let sent = sent(&given, origin);
        assert_eq!(sent.first(), pairs(&[("x-kept", "1")]).first(), "{origin:?}");
        assert!(sent.len() <= 2, "{sent:?}");
    }
}

#[test]
fn on_a_shared_origin_nothing_is_sent_that_counts_for_all_of_it() {
    let of_the_origin = [
        ("Set-Cookie", "a=1"),
        ("Service-Worker-Allowed", "/"),
        ("Clear-Site-Data", "*"),
        ("Strict-Transport-Security", "max-age=1"),
        ("Alt-Svc", "h3=\":1\""),
        ("X-Request-Id", "mine"),
        ("NEL", "{}"),
        ("Report-To", "{}"),
    ];

    assert_eq!(sent(&of_the_origin, Origin::Shared), pairs(&[SANDBOX]));
}

#[test]
fn a_page_of_a_shared_origin_is_sandboxed_whatever_policy_it_has() {
    let own = ("content-security-policy", "script-src *");

    assert_eq!(sent(&[own], Origin::Shared), pairs(&[own, SANDBOX]));
    assert_eq!(sent(&[own], Origin::Own), pairs(&[own]));
}

#[test]
fn at_its_own_host_an_endpoint_may_set_its_own_cookies() {
    let given = [
        ("set-cookie", "a=1; Path=/"),
        ("set-cookie", "b=1; Domain=example.com"),
        ("set-cookie", "c=1; domain =.example.com"),
        ("set-cookie", "domain=a cookie of that name"),
        ("strict-transport-security", "max-age=1"),
        ("clear-site-data", "\"cookies\""),
        ("x-request-id", "mine"),
    ];

    let kept = [given[0], given[3], given[4]];
    assert_eq!(sent(&given, Origin::Own), pairs(&kept));
}

#[test]
fn what_is_no_header_is_not_sent() {
    let given = [
        ("", "x"),
        ("a b", "x"),
        ("a:b", "x"),
        ("a\r\nb", "x"),
        ("ok", "x\r\ny: z"),
        ("ok", "x\0"),
        ("ok", " \u{e9} "),
    ];

    assert_eq!(sent(&given, Origin::Own), pairs(&[("ok", "\u{e9}")]));
}

#[test]
fn a_status_is_a_final_one() {
    for status in [0, 99, 100, 101, 103, 199, 600, u16::MAX] {
        assert_eq!(head(status, vec![], Origin::Own), Err(HeadError::NotFinal { status }));
    }
    for (status, has_body) in [(200, true), (204, false), (205, false), (304, false), (404, true), (599, true)] {
        assert_eq!(head(status, vec![], Origin::Own).unwrap().has_body, has_body, "{status}");
    }
}

#[test]
fn headers_are_bounded_in_number_and_size() {
    let many = |count: usize| vec![("x".to_owned(), String::new()); count];
    let large = |size: usize| vec![("x".to_owned(), "v".repeat(size - 1))];

    assert!(head(200, many(HEADERS_MAXIMUM), Origin::Own).is_ok());
    assert_eq!(head(200, many(65), Origin::Own), Err(HeadError::TooManyHeaders { found: 65 }));
    assert!(head(200, large(HEADER_BYTES_MAXIMUM), Origin::Own).is_ok());
    assert_eq!(head(200, large(32_769), Origin::Own), Err(HeadError::HeadersTooLarge { found: 32_769 }));
}

proptest! {
    #[test]
    fn whatever_is_given_what_is_sent_is_one_header_each(
        given in prop::collection::vec((".{0,12}", ".{0,12}"), 0..20),
        status in any::<u16>(),
    ) {
        for origin in [Origin::Shared, Origin::Own] {
            if let Ok(head) = head(status, given.clone(), origin) {
                for (name, value) in head.headers {
                    prop_assert!(is_header_name(&name) && !is_of_the_connection(&name));
                    prop_assert!(!value.contains(['\r', '\n', '\0']));
                }
            }
        }
    }
}
