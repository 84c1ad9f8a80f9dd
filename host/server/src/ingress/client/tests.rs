//! Tests of whose request it is.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::HeaderValue;

use super::{ProxyError, TrustedProxy, X_FORWARDED_FOR, client_ip};

fn seen(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    for list in forwarded {
        headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(list.as_bytes()).unwrap());
    }
    let trusted: Vec<TrustedProxy> = trusted.iter().map(|proxy| proxy.parse().unwrap()).collect();
    client_ip(peer.parse::<IpAddr>().unwrap(), &headers, &trusted).to_string()
}

#[test]
fn without_a_trusted_proxy_the_header_is_only_text() {
    assert_eq!(seen("192.0.2.7", &["203.0.113.9"], &[]), "192.0.2.7");
    assert_eq!(seen("192.0.2.7", &["203.0.113.9"], &["10.0.0.0/8"]), "192.0.2.7");
}

#[test]
fn a_trusted_proxy_names_the_client() {
    assert_eq!(seen("10.1.2.3", &["203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
    assert_eq!(seen("10.1.2.3", &["203.0.113.9:4711"], &["10.1.2.3"]), "203.0.113.9");
    assert_eq!(seen("10.1.2.3", &["[2001:db8::1]:4711"], &["10.1.2.3"]), "2001:db8::1");
    assert_eq!(seen("::ffff:10.1.2.3", &["203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
}

#[test]
fn what_the_client_wrote_in_front_does_not_count() {
    assert_eq!(seen("10.0.0.1", &["1.1.1.1, 203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
    assert_eq!(seen("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"], &["10.0.0.0/8"]), "203.0.113.9");
}

#[test]
fn when_all_are_proxies_the_farthest_one_is_it() {
    assert_eq!(seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"], &["10.0.0.0/8"]), "10.0.0.3");
    assert_eq!(seen("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
}

#[test]
fn what_is_no_address_ends_the_search() {
    for broken in ["unknown", "", "1.1.1.1, unknown, 10.0.0.2", "\u{e9}"] {
        assert!(seen("10.0.0.1", &[broken], &["10.0.0.0/8"]).starts_with("10.0.0."), "{broken}");
    }
}

#[test]
fn what_is_neither_an_address_nor_a_network_is_refused() {
    for text in ["", "proxy.example.com", "10.0.0.0/33", "10.0.0"] {
        assert_eq!(text.parse::<TrustedProxy>(), Err(ProxyError));
    }
}
