//! Tests of subscriptions.

use platform::fake::component;
use serde_json::json;

use super::wire::{id, wire};

#[tokio::test]
async fn parameters_are_read_from_the_query_string_and_the_body() {
    let wire = wire().await;
    let listener = wire.webhook().await;
    let query = format!("/v1/subscriptions?emitter_id=dc_*&event_name=&listener_id={}", id(&listener));

    let by_query = wire.call("POST", &query, &wire.admin, None).await.data();
    let by_body =
        wire.post("/v1/subscriptions", json!({"emitter_id": "dc_*", "listener_id": id(&listener)})).await.data();
    let body_wins = wire.post(&query, json!({"emitter_id": "p_*"})).await.data();

    assert_eq!((&by_query["event_name"], &by_query), (&json!(""), &by_body));
    assert_eq!(body_wins["emitter_id"], "p_*");
}

#[tokio::test]
async fn subscriptions_are_listed_without_page_info_and_deleted_by_their_three_names() {
    let wire = wire().await;
    let listener = wire.webhook().await;
    let source = wire.source(component("s", json!({})), json!({})).await;
    wire.post("/v1/subscriptions", json!({"emitter_id": id(&source), "listener_id": id(&listener)})).await.data();

    let listed = wire.get("/v1/users/me/subscriptions").await.json();
    let query = format!("/v1/subscriptions?emitter_id={}&listener_id={}&event_name=", id(&source), id(&listener));
    let deleted = wire.delete(&query).await;

    assert_eq!((listed.get("page_info"), listed["data"].as_array().unwrap().len()), (None, 1));
    assert!(id(&listed["data"][0]).starts_with("sub_"));
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    assert_eq!(wire.delete(&query).await.refusal(), (404, "subscription_not_found".into()));
}

#[tokio::test]
async fn an_auto_subscription_is_made_listed_and_ended() {
    let wire = wire().await;
    let listener = wire.webhook().await;
    let path = format!("/v1/auto_subscriptions?event_name=default&listener_id={}", id(&listener));

    let made = wire.call("POST", &path, &wire.admin, None).await.data();
    let again = wire.call("POST", &path, &wire.admin, None).await.data();
    let listed = wire.get("/v1/users/me/auto_subscriptions").await.data();

    assert_eq!((&made, &json!([made])), (&again, &listed));
    assert_eq!(wire.delete(&path).await.status, 204);
    assert_eq!(wire.get("/v1/users/me/auto_subscriptions").await.data(), json!([]));
}

#[tokio::test]
async fn a_dead_letter_is_listed_and_replayed_once() {
    let wire = wire().await;
    let letter = wire.dead_letter().await;
    let path = format!("/v1/dead_letters/{letter}/replay");

    let listed = wire.get("/v1/users/me/dead_letters").await.data();
    let replayed = wire.post(&path, json!({})).await.data();
    let again = wire.post(&path, json!({})).await;

    assert_eq!((&listed[0]["attempts"], &replayed["id"]), (&json!(8), &json!(letter)));
    assert_eq!(again.refusal(), (404, "dead_letter_not_found".into()));
}

#[tokio::test]
async fn a_webhook_is_created_read_listed_and_deleted() {
    let wire = wire().await;

    let created =
        wire.call("POST", "/v1/webhooks?url=https%3A%2F%2Fexample.com%2Fhook&name=N", &wire.admin, None).await.data();
    let path = format!("/v1/webhooks/{}", id(&created));
    let mut read = wire.get(&path).await.data();
    let health = read.as_object_mut().unwrap().remove("health");
    let listed = wire.get("/v1/users/me/webhooks").await.data();

    assert!(id(&created).starts_with("wh_") && created["signing_secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!((&created["user_id"], &created["description"]), (&json!(wire.admin.user.id), &json!(null)));
    assert_eq!((&read["name"], read.get("signing_secret"), read.get("user_id")), (&json!("N"), None, None));
    assert_eq!(listed, json!([read]), "the health is for one webhook");
    assert_eq!(health, Some(json!({"pending": 0, "pending_is_partial": false})));
    assert_eq!((wire.delete(&path).await.status, wire.get(&path).await.status), (204, 404));
}

#[tokio::test]
async fn a_webhook_is_changed_in_what_is_given_and_the_rest_stays() {
    let wire = wire().await;
    let created = wire.post("/v1/webhooks", json!({"url": "https://example.com/a", "name": "N"})).await.data();
    let path = format!("/v1/webhooks/{}", id(&created));

    let off = wire.put(&path, json!({"active": false})).await.data();
    let moved = wire.put(&path, json!({"url": "https://example.com/b", "description": "D"})).await.data();
    let on = wire.put(&path, json!({"active": true})).await.data();

    assert_eq!((&off["active"], &off["inactive_reason"], &off["url"]), (&json!(false), &json!(null), &created["url"]));
    assert_eq!((&moved["active"], &moved["url"]), (&json!(false), &json!("https://example.com/b")));
    assert_eq!((&on["active"], &on["name"], &on["description"]), (&json!(true), &json!("N"), &json!("D")));
    assert_eq!(wire.put(&path, json!({"url": "nope"})).await.refusal(), (400, "invalid_parameter".into()));
    assert_eq!(wire.put("/v1/webhooks/wh_000000000000", json!({})).await.refusal(), (404, "webhook_not_found".into()));
}

#[tokio::test]
async fn a_webhook_to_an_address_that_is_refused_is_422_with_the_reason() {
    let wire = wire().await;
    let (fine, refused) = (json!({"url": "https://example.com"}), json!({"url": "http://10.0.0.1/"}));
    wire.world.outbound.refuse("http://10.0.0.1/");
    let webhook = wire.post("/v1/webhooks", fine).await.data();

    for reply in [
        wire.post("/v1/webhooks", refused.clone()).await,
        wire.put(&format!("/v1/webhooks/{}", id(&webhook)), refused).await,
    ] {
        assert_eq!(reply.refusal(), (422, "address_refused".into()));
        assert_eq!(reply.json()["error"], "`url` cannot be delivered to: this address is refused");
    }
}

#[tokio::test]
async fn a_rotated_secret_is_shown_once_and_the_end_of_the_overlap_stays_visible() {
    let wire = wire().await;
    let created = wire.webhook().await;
    let path = format!("/v1/webhooks/{}", id(&created));

    let rotated = wire.post(&format!("{path}/rotate_secret"), json!({})).await.data();
    let read = wire.get(&path).await.data();
    let at_once = wire.post(&format!("{path}/rotate_secret"), json!({"overlap_seconds": 0})).await.data();

    assert_ne!(rotated["signing_secret"], created["signing_secret"]);
    assert_eq!((&read["previous_secret_expires_at"], read.get("signing_secret")), (&json!(1_750_680_000), None));
    assert_eq!(
        (&created["previous_secret_expires_at"], &at_once["previous_secret_expires_at"]),
        (&json!(null), &json!(null))
    );
}
