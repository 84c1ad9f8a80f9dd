//! Addresses that are understood, and those that are refused.

use super::{Address, Kind, place};
use crate::Tls;

fn parse(text: &str) -> Option<Kind> {
    Address::parse(text, &Tls::default()).ok().map(|address| address.kind)
}

fn places(text: &str) -> Option<Vec<String>> {
    Some(match parse(text)? {
        Kind::Single(node) => vec![place(&node)],
        Kind::Cluster(nodes) | Kind::Sentinel { sentinels: nodes, .. } => nodes.iter().map(place).collect(),
    })
}

#[test]
fn one_server_or_the_nodes_of_a_cluster() {
    assert_eq!(places("redis://127.0.0.1:7000/2"), Some(vec!["127.0.0.1:7000".into()]));
    assert_eq!(places("valkeys://127.0.0.1:7000/2"), Some(vec!["127.0.0.1:7000".into()]));
    let three = Some(vec!["a:1".into(), "b:6379".into(), "c:3".into()]);
    assert_eq!(places("redis+cluster://a:1,b,c:3"), three);
    assert_eq!(places("rediss+cluster://user:pass@a:1,b,c:3/"), three);
}

#[test]
fn the_password_of_a_cluster_holds_for_every_node() {
    let Some(Kind::Cluster(nodes)) = parse("redis+cluster://me:secret@a:1,b:2") else { panic!("a cluster") };

    for node in nodes {
        let settings = node.redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("me"), Some("secret")));
    }
}

#[test]
fn sentinels_are_named_with_a_service_and_the_password_is_that_of_its_servers() {
    let text = "redis+sentinel://me:secret@a,b:5000/main/3";
    let Some(Kind::Sentinel { sentinels, service, server }) = parse(text) else { panic!("Sentinels") };

    assert_eq!(places(text), Some(vec!["a:26379".into(), "b:5000".into()]));
    assert_eq!(service, "main");
    assert_eq!((server.redis_settings().password(), server.redis_settings().db()), (Some("secret"), 3));
    assert!(sentinels.iter().all(|sentinel| sentinel.redis_settings().password().is_none()));
}

#[test]
fn certificates_need_an_address_with_tls() {
    let tls = Tls { ca: Some(b"certificate".to_vec()), client: None };

    assert!(matches!(Address::parse("redis://a", &tls), Err(crate::Error::PlainAddress)));
    assert!(Address::parse("rediss://a", &tls).is_ok());
}

#[test]
fn anything_else_is_refused() {
    let bad = [
        "",
        "redis://",
        "http://a",
        "a:6379",
        "redis+cluster://",
        "redis+cluster://a,,b",
        "redis+sentinel://a",
        "redis+sentinel://a/",
        "redis+other://a",
    ];
    for bad in bad {
        assert!(parse(bad).is_none(), "{bad}");
    }
}
