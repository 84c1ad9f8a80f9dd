//! Tests of users.

use serde_json::json;

use super::wire::{id, wire};

#[tokio::test]
async fn the_current_user_sees_the_fields_of_their_plan() {
    let wire = wire().await;
    let path = format!("/v1/admin/users/{}", wire.admin.user.id);

    let free = wire.get("/v1/users/me").await.data();
    let period =
        json!({"plan": "paid", "billing_period_start_ts": 1_750_000_000, "billing_period_end_ts": 1_752_600_000});
    wire.put(&path, period).await.data();
    let paid = wire.get("/v1/users/me").await.data();

    assert_eq!(free["api_key"], json!(wire.admin.presented_key));
    assert_eq!(free["daily_invocations_quota"], 1_000_000);
    assert_eq!((paid.get("api_key"), paid.get("daily_invocations_quota")), (None, None));
    assert_eq!(
        (&paid["billing_period_start_ts"], &paid["billing_period_invocations"]),
        (&json!(1_750_000_000), &json!(0))
    );
}

#[tokio::test]
async fn the_operator_makes_users_and_their_keys_work() {
    let wire = wire().await;

    let made = wire.post("/v1/admin/users", json!({"username": "ada", "email": "ada@example.com"})).await.data();
    let taken = wire.post("/v1/admin/users", json!({"username": "ada", "email": "other@example.com"})).await;
    let key = wire.post(&format!("/v1/admin/users/{}/keys", id(&made)), json!({})).await.data();
    let me = |key: &serde_json::Value| format!("authorization: Bearer {}\r\n", key["api_key"].as_str().unwrap());

    assert_eq!((&made["role"], &made["plan"]), (&json!("member"), &json!("free")));
    assert_eq!(taken.refusal(), (409, "username_taken".into()));
    for key in [&made, &key] {
        let reply = wire.send("GET", "/v1/users/me", &me(key), b"").await;
        assert_eq!(reply.data()["username"], "ada");
    }
    assert_eq!(wire.get("/v1/admin/users").await.data().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_key_is_made_listed_without_itself_and_revoked() {
    let wire = wire().await;

    let wish = json!({"name": "ci", "scopes": ["deploy"], "expires_at": 1_900_000_000});
    let made = wire.post("/v1/users/me/keys", wish).await.data();
    let path = format!("/v1/users/me/keys/{}", id(&made));
    let renamed = wire.put(&path, json!({"name": "CI"})).await.data();
    let listed = wire.get("/v1/users/me/keys").await;
    let revoked = wire.delete(&path).await;
    let headers = format!("authorization: Bearer {}\r\n", made["api_key"].as_str().unwrap());

    let (listed_key, first) = (&listed.data()[0], &listed.data()[1]);
    assert_eq!((listed_key, &renamed["name"]), (&renamed, &json!("CI")));
    assert_eq!(
        (&listed_key["scopes"], &listed_key["expires_at"], &listed_key["last_used_at"], &listed_key["current"]),
        (&json!(["read", "deploy"]), &json!(1_900_000_000), &json!(null), &json!(false))
    );
    assert_eq!(
        (&first["scopes"], &first["last_used_at"], &first["current"]),
        (&json!(null), &json!(1_750_593_600), &json!(true))
    );
    assert!(!listed.text.contains(made["api_key"].as_str().unwrap()));
    assert_eq!((revoked.status, wire.send("GET", "/v1/users/me", &headers, b"").await.status), (204, 401));
}

#[tokio::test]
async fn accounts_are_connected_listed_and_deleted_and_never_show_credentials() {
    let wire = wire().await;
    wire.post("/v1/admin/apps", json!({"name_slug": "slack", "name": "Slack"})).await.data();

    let made = wire.post("/v1/accounts", json!({"app": "slack", "credentials": {"token": "t0ken"}})).await;
    let path = format!("/v1/accounts/{}", id(&made.data()));
    let listed = wire.get("/v1/users/me/accounts").await;

    assert_eq!((&made.data()["name"], listed.data()), (&json!("Slack"), json!([wire.get(&path).await.data()])));
    assert!(!made.text.contains("t0ken") && !listed.text.contains("t0ken"));
    assert_eq!((wire.delete(&path).await.status, wire.get(&path).await.status), (204, 404));
    // The operator's word counts before what ships, until it is deleted.
    assert_eq!(wire.get("/v1/apps/slack").await.data()["auth_type"], "keys");
    assert_eq!(wire.delete("/v1/admin/apps/slack").await.status, 204);
    assert_eq!(wire.get("/v1/apps/slack").await.data()["auth_type"], "oauth2");
    assert_eq!(wire.delete("/v1/admin/apps/slack").await.refusal(), (404, "app_not_found".into()));
    let unknown = wire.post("/v1/accounts", json!({"app": "unknown", "credentials": {}})).await;
    assert_eq!(unknown.refusal(), (404, "app_not_found".into()));
}

#[tokio::test]
async fn a_deleted_user_is_202_and_their_key_is_401_from_then_on() {
    let wire = wire().await;
    let made = wire.post("/v1/admin/users", json!({"username": "ada", "email": "ada@example.com"})).await.data();
    let path = format!("/v1/admin/users/{}", id(&made));
    let headers = format!("authorization: Bearer {}\r\n", made["api_key"].as_str().unwrap());

    assert_eq!(wire.delete(&path).await.status, 202);

    assert_eq!(wire.send("GET", "/v1/users/me", &headers, b"").await.status, 401);
    assert_eq!(wire.delete(&path).await.refusal(), (404, "user_not_found".into()));
    let own = format!("/v1/admin/users/{}", wire.admin.user.id);
    assert_eq!(wire.delete(&own).await.refusal(), (403, "own_role".into()));
}

#[tokio::test]
async fn keys_that_were_given_to_the_server_are_wrapped_under_and_not_made() {
    let wire = wire().await;

    assert_eq!(wire.post("/v1/admin/rotate_key", json!({})).await.refusal(), (409, "keys_given".into()));
    assert_eq!(wire.post("/v1/admin/rotate_key", json!({"resume": true})).await.data()["rewrapped"], 0);
}
