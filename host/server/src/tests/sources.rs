//! Tests of sources.

use platform::fake::{component, returned, threw};
use serde_json::{Value, json};

use super::wire::{id, wire};

#[tokio::test]
async fn accounts_are_used_by_token_or_by_proxy_and_in_no_other_way() {
    let wire = wire().await;
    let code = component("One", json!({}));
    let created = wire.post("/v1/sources", json!({"component_code": code, "auth": "proxy"})).await.data();
    let path = format!("/v1/sources/{}", id(&created));

    let refused = [
        wire.post("/v1/sources", json!({"component_code": code, "auth": "other"})).await,
        wire.put(&path, json!({"auth": "other"})).await,
        wire.post(&format!("{path}/preview"), json!({"auth": "other"})).await,
    ];

    for reply in refused {
        assert_eq!(reply.status, 400);
        assert!(reply.text.contains("`token` or `proxy`"), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_source_lives_from_post_to_delete() {
    let wire = wire().await;
    let created = wire.post("/v1/sources/", json!({"component_code": component("My Source", json!({}))})).await.data();
    let path = format!("/v1/sources/{}", id(&created));

    let read = wire.get(&path).await.data();
    let updated = wire.put(&path, json!({"name": "New Name", "active": false})).await.data();
    let again = wire.put(&path, json!({"active": true})).await.data();
    let deleted = wire.delete(&path).await;

    assert!(id(&created).starts_with("dc_") && created["component_id"].as_str().unwrap().starts_with("sc_"));
    assert_eq!((&created["active"], &created["name_slug"]), (&json!(true), &json!("my-source")));
    assert_eq!(created["user_id"], json!(wire.admin.user.id));
    assert_eq!(read.get("user_id"), None, "absent but for the create response");
    assert_eq!(
        (&updated["name"], &updated["active"], &again["active"]),
        (&json!("New Name"), &json!(false), &json!(true))
    );
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    assert_eq!(wire.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_timer_is_given_in_one_form_and_returned_in_another() {
    let wire = wire().await;
    let code = component("t", json!({"props": {"timer": "$.interface.timer"}}));

    let interval = wire.source(code.clone(), json!({"timer": {"intervalSeconds": 900}})).await;
    let cron = wire.source(code, json!({"timer": {"cron": "0 9 * * 1"}})).await;

    assert_eq!(interval["configured_props"]["timer"], json!({"cron": null, "interval_seconds": 900}));
    assert_eq!(cron["configured_props"]["timer"], json!({"cron": "0 9 * * 1", "interval_seconds": null}));
}

#[tokio::test]
async fn lists_page_with_cursors_until_a_page_is_empty() {
    let wire = wire().await;
    for name in ["a", "b", "c"] {
        wire.source(component(name, json!({})), json!({})).await;
    }

    let mut names = Vec::new();
    let mut path = "/v1/users/me/sources/?limit=2".to_owned();
    loop {
        let page = wire.get(&path).await.json();
        assert_eq!(page["page_info"]["total_count"], 3);
        let Some(cursor) = page["page_info"]["end_cursor"].as_str() else {
            assert_eq!((&page["data"], &page["page_info"]["start_cursor"]), (&json!([]), &Value::Null));
            break;
        };
        names.extend(page["data"].as_array().unwrap().iter().map(|source| source["name"].clone()));
        path = format!("/v1/users/me/sources/?limit=2&after={cursor}");
    }

    assert_eq!(names, ["c", "b", "a"]);
}

#[tokio::test]
async fn summaries_list_more_than_a_page_of_sources_at_once() {
    let wire = wire().await;
    let saved = wire.component(component("many", json!({}))).await;
    for number in 0..101 {
        wire.post("/v1/sources", json!({"component_id": id(&saved), "name": format!("s {number}")})).await.data();
    }

    let all = wire.get("/v1/users/me/source_summaries").await.json();
    let second = all["data"][1].clone();
    let after = wire
        .get(&format!("/v1/users/me/source_summaries?after={}", all["page_info"]["end_cursor"].as_str().unwrap()))
        .await;

    assert_eq!((&all["page_info"]["count"], &all["page_info"]["total_count"]), (&json!(101), &json!(101)));
    assert_eq!(
        (&second["name"], &second["name_slug"], &second["active"]),
        (&json!("s 99"), &json!("s-99"), &json!(true))
    );
    assert_eq!(after.data(), json!([]));
}

#[tokio::test]
async fn the_page_size_is_ten_unless_given_and_at_most_a_hundred() {
    let wire = wire().await;
    for _ in 0..11 {
        wire.webhook().await;
    }

    let count = async |query: &str| {
        wire.get(&format!("/v1/users/me/webhooks{query}")).await.json()["page_info"]["count"].clone()
    };

    assert_eq!((count("").await, count("?limit=1").await, count("?limit=11").await), (json!(10), json!(1), json!(11)));
    assert_eq!(count("?limit=1000000000000000000000").await, json!(11), "taken as 100");
}

#[tokio::test]
async fn include_and_exclude_select_fields_of_data() {
    let wire = wire().await;
    let body = json!({"component_code": component("s", json!({})), "include": "id,name, unknown", "exclude": "name"});

    let headers =
        format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", wire.admin.presented_key.expose());
    let created = wire.send("POST", "/v1/sources", &headers, body.to_string().as_bytes()).await.data();
    let listed = wire.get("/v1/users/me/sources?include=name,active").await.data();
    let me = wire.get("/v1/users/me?exclude=api_key").await.data();

    assert_eq!(created.as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    assert_eq!(listed, json!([{"active": true, "name": "s"}]));
    assert!(me.get("api_key").is_none() && me.get("email").is_some());
}

#[tokio::test]
async fn a_failing_hook_is_422_with_its_error_and_stack() {
    let wire = wire().await;
    wire.world.sandbox.script("h", |_| threw("cannot register"));
    let code = component("h", json!({"hooks": {"activate": {"$fn": true}}}));

    let reply = wire.post("/v1/sources", json!({"component_code": code})).await;

    let details = &reply.json()["details"];
    assert_eq!(reply.refusal(), (422, "hook_failed".into()));
    assert_eq!((&details["hook"], &details["fault"]), (&json!("activate"), &json!("threw")));
    assert!(details["stack"].as_str().unwrap().contains("cannot register"));
    assert_eq!(wire.get("/v1/users/me/sources").await.data(), json!([]));
}

#[tokio::test]
async fn a_failing_deactivate_blocks_deletion_unless_it_is_ignored() {
    let wire = wire().await;
    let code = component("h", json!({"hooks": {"deactivate": {"$fn": true}}}));
    let source = wire.source(code, json!({})).await;
    wire.world.sandbox.script("h", |_| threw("gone"));
    let path = format!("/v1/sources/{}", id(&source));

    assert_eq!(wire.delete(&path).await.refusal(), (422, "hook_failed".into()));
    assert_eq!(wire.get(&path).await.data()["active"], true);
    assert_eq!(wire.delete(&format!("{path}?ignore_hook_errors=true")).await.status, 204);
}

#[tokio::test]
async fn a_run_by_hand_takes_any_json_as_its_event() {
    let wire = wire().await;
    let source = wire.source(component("echo", json!({})), json!({})).await;
    let path = format!("/v1/sources/{}/run", id(&source));

    for event in [json!({"a": 1}), json!([1]), json!("text"), json!(null), json!(7)] {
        let run = wire.post(&path, event.clone()).await.data();
        assert_eq!((&run["ok"], &run["emitted"][0]["event"], &run["error"]), (&json!(true), &event, &Value::Null));
    }
    let without_body = wire.call("POST", &path, &wire.admin, None).await.data();
    assert_eq!(without_body["emitted"][0]["event"], Value::Null);
}

#[tokio::test]
async fn a_run_that_throws_answers_200_with_its_error() {
    let wire = wire().await;
    let source = wire.source(component("throws", json!({})), json!({})).await;
    wire.world.sandbox.script("throws", |_| threw("boom"));

    let run = wire.post(&format!("/v1/sources/{}/run", id(&source)), json!({})).await.data();

    assert_eq!((&run["ok"], &run["error"]["message"]), (&json!(false), &json!("boom")));
}

#[tokio::test]
async fn a_used_up_quota_is_429_with_the_seconds_to_midnight() {
    let wire = wire().await;
    let source = wire.source(component("echo", json!({})), json!({})).await;
    let me = format!("/v1/admin/users/{}", wire.admin.user.id);
    wire.put(&me, json!({"daily_invocations_quota": 0})).await.data();

    let source = format!("/v1/sources/{}", id(&source));
    let code = json!({"component_code": component("new", json!({}))});
    for reply in [
        wire.post(&format!("{source}/run"), json!({})).await,
        wire.post("/v1/sources", code.clone()).await,
        wire.post("/v1/components", code.clone()).await,
        wire.put(&source, code.clone()).await,
    ] {
        assert_eq!(reply.refusal(), (429, "quota_exceeded".into()));
        assert_eq!(reply.header("retry-after").as_deref(), Some("43200"), "it is noon");
    }
    // A source can be renamed, stopped and deleted, and not started again.
    wire.put(&source, json!({"name": "Renamed"})).await.data();
    wire.put(&source, json!({"active": false})).await.data();
    assert_eq!(wire.put(&source, json!({"active": true})).await.refusal(), (429, "quota_exceeded".into()));
    assert_eq!(wire.delete(&source).await.status, 204);
}

#[tokio::test]
async fn secrets_are_never_returned() {
    let wire = wire().await;
    let code = component("s", json!({"props": {"token": {"type": "string", "secret": true}}}));

    let source = wire.source(code, json!({"token": "s3cret"})).await;
    let read = wire.get(&format!("/v1/sources/{}", id(&source))).await;

    assert_eq!(source["configured_props"]["token"], "********");
    assert!(!read.text.contains("s3cret"));
}

#[tokio::test]
async fn a_deploy_is_finished_even_when_its_client_goes_away() {
    use tokio::io::AsyncWriteExt;
    let wire = wire().await;
    let (started, is_started) = tokio::sync::oneshot::channel();
    let started = std::sync::Mutex::new(Some(started));
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let wait = go.clone();
    wire.world.sandbox.script_async("slow", move |_, _| {
        let (started, wait) = (started.lock().unwrap().take(), wait.clone());
        async move {
            let _ = started.map(|started| started.send(()));
            wait.notified().await;
            returned(&Value::Null)
        }
    });
    let code = component("slow", json!({"hooks": {"deploy": {"$fn": true}}}));
    let body = json!({"component_code": code}).to_string();
    let request = format!(
        "POST /v1/sources HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        wire.admin.presented_key.expose(),
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(wire.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    is_started.await.unwrap();

    drop(stream);
    go.notify_one();
    wire.shutdown.cancel();
    wire.serving.await.unwrap().unwrap();

    let page = platform::manage::sources::list(&wire.admin, &wire.world.platform, &Default::default()).await.unwrap();
    assert_eq!(page.items[0].phase, platform::records::Phase::Settled);
}
