//! Tests of access.

use super::wire::wire;
use domain::keys::Scope;
use hyper::Method;
use serde_json::json;

use crate::route::{Access, Route};
use crate::routes::table;

#[tokio::test]
async fn every_route_needs_a_key_and_a_wrong_one_is_401() {
    let wire = wire().await;

    for route in table().iter().filter(|route| route.access != Access::Public) {
        let path = route.path.replace(['{', '}'], "");
        for headers in [
            "",
            "authorization: Bearer wrong\r\n",
            "authorization: Bearer \r\n",
            "authorization: Bearer\r\n",
            "authorization: Basic d3Jvbmc6d3Jvbmc=\r\n",
            "authorization: \u{fc}\r\n",
        ] {
            let reply = wire.send(route.method.as_str(), &path, headers, b"").await;
            assert_eq!(reply.refusal(), (401, "unauthenticated".into()), "{} {path} {headers:?}", route.method);
            assert_eq!(reply.header("www-authenticate").as_deref(), Some("bearer"));
        }
    }
}

#[tokio::test]
async fn the_operators_routes_need_an_admin() {
    let wire = wire().await;
    let member = wire.world.user(&wire.admin, "member").await;

    for route in table().iter().filter(|route| route.access == Access::Key(Scope::Admin)) {
        let path = route.path.replace(['{', '}'], "");
        let reply = wire.call(route.method.as_str(), &path, &member, None).await;
        assert_eq!(reply.refusal(), (403, "admin_only".into()), "{} {path}", route.method);
    }
}

#[tokio::test]
async fn the_scheme_of_the_key_is_read_in_any_case() {
    let wire = wire().await;
    let headers = format!("authorization: bearer {}\r\n", wire.admin.presented_key.expose());

    assert_eq!(wire.send("GET", "/v1/users/me", &headers, b"").await.status, 200);
}

#[tokio::test]
async fn every_path_that_is_read_or_posted_to_works_with_and_without_a_slash_at_the_end() {
    let wire = wire().await;

    for route in table().into_iter().filter(|route| !matches!(route.method, Method::PUT | Method::DELETE)) {
        let path = route.path.replace(['{', '}'], "");
        let answers = [path.clone(), format!("{path}/")].map(|path| {
            let (wire, method) = (&wire, route.method.clone());
            async move { wire.send(method.as_str(), &path, "", b"").await.status }
        });
        let [without, with] = answers;
        assert_eq!(without.await, with.await, "{} {path}", route.method);
    }
}

/// Clients turn `/db/{key}` into this when the key is empty or `..`.
#[tokio::test]
async fn a_change_of_a_path_that_ends_in_a_slash_is_refused() {
    let wire = wire().await;
    let key = format!("authorization: Bearer {}\r\n", wire.admin.presented_key.expose());

    for route in table().into_iter().filter(|route| matches!(route.method, Method::PUT | Method::DELETE)) {
        let path = format!("{}/", route.path.replace(['{', '}'], ""));
        let refused = wire.send(route.method.as_str(), &path, &key, b"").await.refusal();
        assert_eq!(refused, (404, "name_missing".into()), "{} {path}", route.method);
    }
}

#[tokio::test]
async fn a_path_that_exists_answers_405_and_says_what_it_takes() {
    let wire = wire().await;

    let patched = wire.send("PATCH", "/v1/sources/dc_x", "", b"").await;
    let traced = wire.send("TRACE", "/v1/users/me", "", b"").await;
    let spelled_out = wire.send("DELETE", "/v1/sessions/accounts", "", b"").await;

    assert_eq!(patched.refusal(), (405, "method_not_allowed".into()));
    assert_eq!(patched.header("allow").as_deref(), Some("delete, get, put"));
    assert_eq!(traced.header("allow").as_deref(), Some("get"));
    assert_eq!((spelled_out.status, spelled_out.header("allow").as_deref()), (405, Some("get")), "no session's id");
}

#[test]
fn a_path_that_is_spelled_out_comes_before_those_with_a_parameter_in_its_place() {
    let routes = table();
    for route in &routes {
        let path = route.path.trim_start_matches('/').replace(['{', '}'], "");
        let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
        let first = routes.iter().find(|route| route.matches(&segments).is_some()).unwrap();
        assert_eq!(first.path, route.path);
    }
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_404_with_or_without_a_key() {
    let wire = wire().await;

    for path in ["/", "/v1", "/v1/nothing", "/v2/users/me", "/v1//users/me", "/v1/users/me/sources//", "/V1/users/me"] {
        assert_eq!(wire.send("GET", path, "", b"").await.refusal(), (404, "route_not_found".into()), "{path}");
        assert_eq!(wire.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn each_route_is_refused_to_keys_without_its_scope_and_to_no_others() {
    let wire = wire().await;
    let mut keys = Vec::new();
    for scope in Scope::ALL {
        let made = wire.post("/v1/users/me/keys", json!({"scopes": [scope]})).await.data();
        keys.push((scope, format!("authorization: Bearer {}\r\n", made["api_key"].as_str().unwrap())));
    }

    for route in table() {
        let Access::Key(needed) = route.access else { continue };
        let path = route.path.replace(['{', '}'], "");
        for (scope, headers) in &keys {
            let reply = wire.send(route.method.as_str(), &path, headers, b"").await;
            let is_refused = reply.refusal().1 == "insufficient_scope";
            assert_eq!(is_refused, needed != Scope::Read && needed != *scope, "{} {path} {scope}", route.method);
            if is_refused {
                let challenge = format!("bearer error=\"insufficient_scope\", scope=\"{needed}\"");
                assert_eq!((reply.status, reply.header("www-authenticate")), (403, Some(challenge)));
            }
        }
    }
}

#[test]
fn what_changes_something_needs_more_than_read() {
    // What a paused step was given is its own permission: its address cannot be guessed, and works once.
    let is_given = |route: &Route| ["/v1/resume/", "/v1/cancel/"].iter().any(|start| route.path.starts_with(start));
    for route in table().iter().filter(|route| !route.is_plugged && !is_given(route)) {
        let reads = route.access == Access::Key(Scope::Read) || route.access == Access::Public;
        // A session does no more than the key that begins it, and may be ended by what may do as much.
        let is_safe = route.method.is_safe() || route.tag == "Sessions";
        assert!(!reads || is_safe, "{} {}", route.method, route.path);
    }
}

#[tokio::test]
async fn a_mistyped_or_expired_key_is_401_and_says_which() {
    let wire = wire().await;
    let expires_at = wire.world.platform.clock().now_seconds() + 1;
    let made = wire.post("/v1/users/me/keys", json!({"expires_at": expires_at})).await.data();
    let key = made["api_key"].as_str().unwrap();
    wire.world.clock.advance(1000);
    let ask =
        async |key: &str| wire.send("GET", "/v1/users/me", &format!("authorization: Bearer {key}\r\n"), b"").await;

    for (key, code) in [(key, "expired_key"), (&key[..60], "mistyped_key"), ("wsk_", "mistyped_key")] {
        let reply = ask(key).await;
        assert_eq!(reply.refusal(), (401, code.into()));
        assert_eq!(reply.header("www-authenticate").as_deref(), Some("bearer"));
    }
}
