//! Tests of what requests leave in the audit log.

use domain::keys::Scope;
use serde_json::{Value, json};

use super::wire::{Wire, id, wire};
use crate::route::Access;
use crate::routes::table;

/// Newest first.
async fn log(wire: &Wire) -> Vec<Value> {
    wire.get("/v1/audit").await.data().as_array().unwrap().clone()
}

#[tokio::test]
async fn a_change_tells_who_did_what_from_where_and_how_it_ended() {
    let wire = wire().await;
    let made = wire.post("/v1/users/me/keys", json!({"name": "ci", "scopes": ["write"]})).await.data();
    let key = made["api_key"].as_str().unwrap();
    let headers = format!(
        "authorization: Bearer {key}\r\nx-request-id: mine\r\nx-forwarded-for: 203.0.113.7\r\ncontent-type: application/json\r\n"
    );

    let reply = wire.send("POST", "/v1/webhooks", &headers, br#"{"url": "https://example.com/t0ken"}"#).await;
    wire.get("/v1/users/me/webhooks").await.data();

    let entries = log(&wire).await;
    let entry = &entries[0];
    assert_eq!(entries.len(), 2, "reading is not recorded");
    assert_eq!((&entry["action"], &entry["ids"]), (&json!("POST /v1/webhooks"), &json!({"id": id(&reply.data())})));
    assert_eq!((&entry["via"], &entry["key_id"], &entry["key_name"]), (&json!("key"), &made["id"], &json!("ci")));
    assert_eq!((&entry["username"], &entry["user_id"]), (&json!("admin"), &json!(wire.admin.user.id)));
    assert_eq!((&entry["from"], &entry["request_id"]), (&json!("203.0.113.7"), &json!("mine")));
    assert_eq!((&entry["status"], &entries[1]["from"]), (&json!(200), &json!("127.0.0.1")));
    assert_eq!(wire.get("/v1/admin/audit").await.data(), json!(entries), "the operator has the same");
}

#[tokio::test]
async fn neither_bodies_nor_secrets_are_recorded() {
    let wire = wire().await;
    let secret = wire.admin.presented_key.expose().clone();
    wire.post("/v1/admin/apps", json!({"name_slug": "slack"})).await.data();
    wire.post("/v1/accounts", json!({"app": "slack", "credentials": {"token": "t0ken"}})).await.data();
    let webhook = wire.webhook().await;
    let made = wire.post("/v1/users/me/keys", json!({})).await.data();
    // Pasted into the wrong place.
    wire.delete(&format!("/v1/users/me/keys/{secret}")).await;
    wire.post(&format!("/v1/sources/{secret}/run"), json!({"password": "t0ken"})).await;

    let logged = wire.get("/v1/audit?limit=100").await.text;

    assert_eq!(log(&wire).await.len(), 6);
    for hidden in
        [secret.as_str(), "t0ken", made["api_key"].as_str().unwrap(), webhook["signing_secret"].as_str().unwrap()]
    {
        assert!(!logged.contains(hidden), "{hidden}: {logged}");
    }
}

#[tokio::test]
async fn a_refused_call_of_a_known_user_is_recorded_and_one_without_a_user_is_not() {
    let wire = wire().await;
    let expires_at = wire.world.platform.clock().now_seconds() + 60;
    let wish = json!({"scopes": ["read"], "expires_at": expires_at});
    let key = wire.post("/v1/users/me/keys", wish).await.data();
    let headers = format!("authorization: Bearer {}\r\n", key["api_key"].as_str().unwrap());

    let no_scope = wire.send("DELETE", "/v1/sources/dc_Ab12Cd34Ef56", &headers, b"").await;
    wire.world.clock.advance(60_000);
    let expired = wire.send("GET", "/v1/users/me/sources", &headers, b"").await;
    let unknown = wire.send("DELETE", "/v1/sources/dc_Ab12Cd34Ef56", "authorization: Bearer wrong\r\n", b"").await;

    assert_eq!((no_scope.status, expired.status, unknown.status), (403, 401, 401));
    let entries = log(&wire).await;
    let told: Vec<_> =
        entries.iter().map(|entry| (entry["action"].as_str().unwrap(), entry["status"].as_u64())).collect();
    assert_eq!(
        told,
        [
            ("GET /v1/users/me/sources", Some(401)),
            ("DELETE /v1/sources/{id}", Some(403)),
            ("POST /v1/users/me/keys", Some(200))
        ]
    );
    assert!(entries[..2].iter().all(|entry| entry["key_id"] == key["id"]));
}

#[tokio::test]
async fn the_log_cannot_be_changed_through_the_api() {
    let wire = wire().await;
    wire.webhook().await;

    for path in ["/v1/sources/$audit/events", "/v1/sources/%24audit", "/v1/audit", "/v1/admin/audit"] {
        let reply = wire.delete(path).await;
        assert!([404, 405].contains(&reply.status), "{path} {}", reply.text);
    }
    assert_eq!(wire.get("/v1/sources/$audit/event_summaries").await.status, 404);
    let subscription = json!({"emitter_id": "$audit", "listener_id": "wh_Ab12Cd34Ef56"});
    assert_eq!(wire.post("/v1/subscriptions", subscription).await.status, 400);

    assert_eq!(log(&wire).await.last().unwrap()["action"], "POST /v1/webhooks");
}

#[test]
fn every_route_that_changes_something_is_recorded() {
    for route in table() {
        let is_data = [
            "/v1/components/{key_or_id}/options",
            "/v1/apps/{name_slug}/events",
            "/v1/runs/{id}/replay",
            "/v1/sources/{id}/shadow",
            "/v1/sources/{id}/preview",
            "/v1/workflows/{workflow_id}/preview",
        ]
        .contains(&route.path);
        let is_reading = route.access == Access::Key(Scope::Read) && route.tag != "Sessions";
        let changes = route.access != Access::Public && !is_reading && !route.method.is_safe();
        assert_eq!(route.is_audited, changes && !is_data, "{} {}", route.method, route.path);
    }
}
