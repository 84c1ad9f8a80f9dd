//! Tests of access.

use super::wire::wire;
use crate::route::Access;
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

    for route in table().iter().filter(|route| route.access == Access::Admin) {
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
async fn every_path_works_with_and_without_a_slash_at_the_end() {
    let wire = wire().await;

    for route in table() {
        let path = route.path.replace(['{', '}'], "");
        let answers = [path.clone(), format!("{path}/")].map(|path| {
            let (wire, method) = (&wire, route.method.clone());
            async move { wire.send(method.as_str(), &path, "", b"").await.status }
        });
        let [without, with] = answers;
        assert_eq!(without.await, with.await, "{} {path}", route.method);
    }
}

#[tokio::test]
async fn a_path_that_exists_answers_405_and_says_what_it_takes() {
    let wire = wire().await;

    let patched = wire.send("PATCH", "/v1/sources/dc_x", "", b"").await;
    let traced = wire.send("TRACE", "/v1/users/me", "", b"").await;

    assert_eq!(patched.refusal(), (405, "method_not_allowed".into()));
    assert_eq!(patched.header("allow").as_deref(), Some("delete, get, put"));
    assert_eq!(traced.header("allow").as_deref(), Some("get"));
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_404_with_or_without_a_key() {
    let wire = wire().await;

    for path in ["/", "/v1", "/v1/nothing", "/v2/users/me", "/v1//users/me", "/v1/users/me/sources//", "/V1/users/me"] {
        assert_eq!(wire.send("GET", path, "", b"").await.refusal(), (404, "route_not_found".into()), "{path}");
        assert_eq!(wire.get(path).await.status, 404, "{path}");
    }
}
