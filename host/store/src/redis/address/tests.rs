//! Addresses that are understood, and those that are refused.

use super::Address;

fn nodes(text: &str) -> Option<Vec<String>> {
    match Address::parse(text).ok()? {
        Address::Single(node) => Some(vec![node.addr().to_string()]),
        Address::Cluster(nodes) => Some(nodes.iter().map(|node| node.addr().to_string()).collect()),
    }
}

#[test]
fn one_server_or_the_nodes_of_a_cluster() {
    assert_eq!(nodes("redis://127.0.0.1:7000/2"), Some(vec!["127.0.0.1:7000".into()]));
    let three = Some(vec!["a:1".into(), "b:6379".into(), "c:3".into()]);
    assert_eq!(nodes("redis+cluster://a:1,b,c:3"), three);
    assert_eq!(nodes("redis+cluster://user:pass@a:1,b,c:3/"), three);
}

#[test]
fn the_password_of_a_cluster_holds_for_every_node() {
    let Ok(Address::Cluster(nodes)) = Address::parse("redis+cluster://me:secret@a:1,b:2") else { panic!("a cluster") };

    for node in nodes {
        let settings = node.redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("me"), Some("secret")));
    }
}

#[test]
fn anything_else_is_refused() {
    for bad in ["", "redis://", "http://a", "a:6379", "redis+cluster://", "redis+cluster://a,,b"] {
        assert_eq!(nodes(bad), None, "{bad}");
    }
}
