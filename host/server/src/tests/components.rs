//! Tests of components.

use platform::fake::component;
use serde_json::{Value, json};

use super::wire::{id, wire};

#[tokio::test]
async fn a_component_is_saved_and_read_by_id_and_by_key() {
    let wire = wire().await;
    let code = component(
        "My Component",
        json!({"key": "my-key", "props": {"a": {"type": "string", "label": "A", "default": "x"}}}),
    );

    let saved = wire.component(code.clone()).await;
    let by_id = wire.get(&format!("/v1/components/{}", id(&saved))).await.data();
    let by_key = wire.get("/v1/components/my-key").await.data();

    assert!(id(&saved).starts_with("sc_"));
    assert_eq!(
        (&saved["code"], &saved["name"], &saved["version"]),
        (&json!(code), &json!("My Component"), &json!("0.0.1"))
    );
    assert_eq!(saved["code_hash"].as_str().unwrap().len(), 64);
    assert_eq!(saved["configurable_props"], json!([{"name": "a", "type": "string", "label": "A", "default": "x"}]));
    assert_eq!((saved["created_at"].as_u64(), &by_id, &by_key), (Some(1_750_593_600), &saved, &saved));
}

#[tokio::test]
async fn a_component_lists_the_packages_it_was_linked_with() {
    let wire = wire().await;
    let code = component("Uses packages", json!({"description": "depends on axios@1.7.2 @slack/web-api@7.0.0"}));

    let saved = wire.component(code).await;

    assert_eq!(
        saved["dependencies"],
        json!([
            {"name": "axios", "version": "1.7.2", "integrity": "sha512-axios", "location": "node_modules/axios"},
            {
                "name": "@slack/web-api", "version": "7.0.0", "integrity": "sha512-@slack/web-api",
                "location": "node_modules/@slack/web-api"
            },
        ])
    );
    assert_eq!(wire.get(&format!("/v1/components/{}", id(&saved))).await.data(), saved);
}

#[tokio::test]
async fn a_deploy_can_be_followed_until_its_answer() {
    let wire = wire().await;
    let key = wire.admin.presented_key.expose();
    let headers = format!(
        "authorization: Bearer {key}\r\ncontent-type: application/json\r\naccept: text/event-stream, */*;q=0.1\r\n"
    );
    let code = component("Followed", json!({"description": "depends on axios@1.7.2"}));
    let body = json!({"component_code": code}).to_string();

    let followed = wire.send("POST", "/v1/components", &headers, body.as_bytes()).await;
    let refused = wire.send("POST", "/v1/components", &headers, b"{\"component_code\": \"syntax error\"}").await;

    assert_eq!((followed.status, followed.header("content-type").as_deref()), (200, Some("text/event-stream")));
    let (progress, answer) = followed.text.split_once("event: answer\n").unwrap();
    assert!(progress.contains("event: progress\ndata: {\"stage\":\"resolving\",\"packages\":1}\n\n"), "{progress}");
    assert!(answer.contains("\"status\":200") && answer.contains("\"name\":\"Followed\""), "{answer}");
    assert!(refused.text.contains("\"status\":422") && refused.text.contains("syntax_error"), "{}", refused.text);
}

#[tokio::test]
async fn code_or_a_url_is_required() {
    let wire = wire().await;

    let reply = wire.post("/v1/components", json!({})).await;

    assert_eq!(reply.refusal(), (400, "missing_parameter".into()));
    assert_eq!(reply.json()["details"]["one_of"], json!(["component_code", "component_url"]));
}

#[tokio::test]
async fn a_published_component_is_read_by_every_user() {
    let wire = wire().await;
    let stranger = wire.world.user(&wire.admin, "stranger").await;
    let code = component("P", json!({"key": "app-p", "version": "1.0.0"}));
    wire.post("/v1/admin/registry", json!({"component_code": code})).await.data();

    let found = wire.call("GET", "/v1/components/registry/app-p", &stranger, None).await.data();
    let deployed = wire.call("POST", "/v1/sources", &stranger, Some(json!({"key": "app-p"}))).await.data();
    let unpublished = wire.delete("/v1/admin/registry/app-p").await;

    assert_eq!((&found["key"], unpublished.status), (&json!("app-p"), 204));
    assert_eq!(deployed["component_id"], found["id"]);
}

#[tokio::test]
async fn a_component_is_deleted_unless_a_source_uses_it_and_it_is_said_which() {
    let wire = wire().await;
    let saved = wire.component(component("Saved", json!({"key": "saved"}))).await;
    let path = format!("/v1/components/{}", id(&saved));
    let source = wire.post("/v1/sources", json!({"component_id": id(&saved)})).await.data();

    let refused = wire.delete(&path).await;
    wire.delete(&format!("/v1/sources/{}", id(&source))).await;
    let deleted = wire.delete("/v1/components/saved").await;
    let gone = wire.get(&path).await;

    assert_eq!(refused.refusal(), (409, "component_in_use".into()));
    assert_eq!(refused.json()["details"]["used_by"], json!([id(&source)]));
    assert_eq!((deleted.status, gone.refusal()), (204, (404, "component_not_found".into())));
}

#[tokio::test]
async fn options_and_actions_are_run() {
    let wire = wire().await;
    let props = json!({"a": {"type": "string", "options": ["x"]}});
    let action = wire.component(component("act", json!({"type": "action", "props": props}))).await;
    let path = format!("/v1/components/{}", id(&action));

    let options = wire.post(&format!("{path}/options"), json!({"prop": "a"})).await.data();
    let run = wire.post(&format!("{path}/run"), json!({"configured_props": {"a": "x"}, "steps": {}})).await.data();
    let unfit = wire.post(&format!("{path}/run"), json!({"configured_props": {"a": "y"}})).await;

    assert_eq!(options["options"], json!(["x"]));
    assert_eq!((&run["ok"], &run["return_value"]), (&json!(true), &json!(null)));
    assert_eq!(unfit.refusal(), (422, "invalid_props".into()));
}

#[tokio::test]
async fn the_registry_is_listed_without_code_and_without_what_no_key_names() {
    let wire = wire().await;
    let stranger = wire.world.user(&wire.admin, "stranger").await;
    let props = json!({"slack": {"type": "app", "app": "slack"}});
    for (version, key) in [("1.0.0", "slack-p"), ("1.1.0", "slack-p"), ("1.0.0", "slack-q")] {
        let code = component("p", json!({"key": key, "version": version, "props": props}));
        wire.post("/v1/admin/registry", json!({"component_code": code})).await.data();
    }

    let listed = wire.call("GET", "/v1/registry", &stranger, None).await.data();
    wire.delete("/v1/admin/registry/slack-p").await;
    let left = wire.call("GET", "/v1/registry", &stranger, None).await.data();

    let of = |list: &Value| {
        let field = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(|entry| (field(entry, "key"), field(entry, "version"))).collect::<Vec<_>>()
    };
    assert_eq!(of(&listed), [("slack-q".into(), "1.0.0".into()), ("slack-p".into(), "1.1.0".into())]);
    assert_eq!((&listed[0]["apps"], listed[0].get("code")), (&json!(["slack"]), None));
    assert_eq!(of(&left), [("slack-q".into(), "1.0.0".into())]);
}

#[tokio::test]
async fn a_component_is_tried_before_it_is_deployed() {
    let wire = wire().await;
    let saved = wire.component(component("tried", json!({}))).await;

    let tried = wire.post(&format!("/v1/components/{}/try", id(&saved)), json!({"event": {"n": 1}})).await.data();

    assert_eq!((&tried["ok"], &tried["emitted_count"]), (&json!(true), &json!(1)), "{tried}");
    assert_eq!(tried["emitted"][0]["event"], json!({"n": 1}));
    assert_eq!(wire.get("/v1/users/me/sources").await.data(), json!([]));
}
