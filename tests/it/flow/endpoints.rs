//! Requests to the endpoints of sources, and what they are answered.

use rig::client::Client;
use serde_json::json;

use super::{EMIT_BODY, World, on_every_store, text};

on_every_store! {
    a_request_becomes_an_event_that_can_be_read,
    a_body_that_is_not_the_json_it_claims_to_be_arrives_as_text_and_the_log_says_why,
    a_component_answers_itself,
    a_component_that_does_not_answer_is_a_500,
    an_answer_does_not_wait_for_a_slow_run,
    what_a_source_remembers_is_there_in_its_next_run,
    a_duplicate_is_not_emitted_again,
    an_endpoint_is_only_there_while_its_source_is_active,
}

async fn a_request_becomes_an_event_that_can_be_read(world: World) {
    let run = "run({body, path, method}) { this.$emit({body, path, method}); }";
    let source = world.endpoint(run).await;

    let reply = world.client.trigger(&format!("{}/a/b?c=d", source.endpoint), &json!({"n": 1})).await.unwrap();

    assert_eq!((reply.status, reply.json()), (200, json!({"success": true})));
    let path = format!("/v1/sources/{}/event_summaries", source.id);
    let summaries = world.client.get(&path).await.unwrap().success().unwrap();
    assert_eq!(summaries["page_info"]["total_count"], 1);
    let summary = &summaries["data"][0];
    assert_eq!(summary["event"], json!({"body": {"n": 1}, "path": "/a/b", "method": "POST"}));
    assert_eq!((&summary["metadata"]["emitter_id"], &summary["metadata"]["name"]), (&json!(source.id), &json!("")));
    let events = world.client.get(&format!("/v1/sources/{}/events", source.id)).await.unwrap().data();
    assert_eq!((&events[0]["e"], &events[0]["id"]), (&summary["event"], &summary["id"]));
}

const CUSTOM: &str = "http: {type: '$.interface.http', customResponse: true}";

async fn a_body_that_is_not_the_json_it_claims_to_be_arrives_as_text_and_the_log_says_why(world: World) {
    let source = world.endpoint("run(event) { this.$emit(event.body); }").await;

    let headers = [("content-type", "application/json")];
    let reply = world.client.call("POST", &source.endpoint, &headers, "{\n  oops".into()).await.unwrap();

    assert_eq!(reply.status, 200);
    assert_eq!(world.wait_for_events(&source, "default", 1).await, [json!("{\n  oops")]);
    let logs = world.client.get(&format!("/v1/sources/{}/logs", source.id)).await.unwrap().data();
    let line = &logs[0];
    assert_eq!(line["level"], "warn", "{logs}");
    assert!(text(&line["message"]).contains("key must be a string at line 2 column 3"), "{logs}");
}

async fn a_component_answers_itself(world: World) {
    let run =
        "run(event) { this.http.respond({status: 418, headers: {'x-kind': 'teapot'}, body: {got: event.body}}); }";
    let source = world.deploy(CUSTOM, run).await;

    let reply = world.client.trigger(&source.endpoint, &json!("tea")).await.unwrap();

    assert_eq!((reply.status, reply.json()), (418, json!({"got": "tea"})));
    assert_eq!(reply.headers["x-kind"], "teapot");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_type_of_its_body_unless_it_is_given() {
    let world = World::on_sqlite().await;
    let run = "run({query}) { this.http.respond({status: 200, ...{
        text: {body: 'é'}, empty: {body: ''}, object: {body: {a: 1}}, number: {body: 5}, buffer: {body: Buffer.from('b')},
        nothing: {}, given: {body: 'a,b', headers: {'Content-Type': 'text/csv', 'x-no': null}},
        wrong: {body: 'x', headers: {'not a header': 1}}, split: {body: 'x', headers: {x: 'a\\r\\nb: c'}},
    }[query.kind]}); }";
    let source = world.deploy(CUSTOM, run).await;

    for (kind, expected) in [
        ("text", Some("text/plain; charset=utf-8")),
        ("empty", Some("text/plain; charset=utf-8")),
        ("object", Some("application/json")),
        ("number", Some("application/json")),
        ("buffer", Some("application/octet-stream")),
        ("nothing", None),
        ("given", Some("text/csv")),
    ] {
        let reply = world.client.trigger(&format!("{}?kind={kind}", source.endpoint), &json!(1)).await.unwrap();
        let content_type = reply.headers.get("content-type").map(|value| value.to_str().unwrap());
        assert_eq!((reply.status, content_type), (200, expected), "{kind}");
        assert!(!reply.headers.contains_key("x-no"));
    }
    for kind in ["wrong", "split"] {
        let reply = world.client.trigger(&format!("{}?kind={kind}", source.endpoint), &json!(1)).await.unwrap();
        assert_eq!(reply.json()["code"], "no_response", "{kind}");
        let thrown = world.wait_for_events(&source, "$errors", 1).await;
        assert_eq!(thrown[0]["error"]["name"], "TypeError");
    }
}

async fn a_component_that_does_not_answer_is_a_500(world: World) {
    let source = world.deploy(CUSTOM, "run() { this.$emit('ran'); }").await;

    let reply = world.client.trigger(&source.endpoint, &json!({})).await.unwrap();

    assert_eq!((reply.status, reply.json()["code"].as_str()), (500, Some("no_response")));
    assert_eq!(world.events(&source, "default").await, [json!("ran")]);
}

async fn an_answer_does_not_wait_for_a_slow_run(world: World) {
    let run = "async run(event) { await new Promise((resolve) => setTimeout(resolve, 1500)); this.$emit(event.body); }";
    let source = world.endpoint(run).await;

    world.trigger(&source, &json!("slow")).await;
    let at_once = world.events(&source, "default").await;
    let in_the_end = world.wait_for_events(&source, "default", 1).await;

    assert_eq!((at_once, in_the_end), (vec![], vec![json!("slow")]));
}

async fn what_a_source_remembers_is_there_in_its_next_run(world: World) {
    let run = "run() { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.$emit(n); }";
    let source = world.endpoint(run).await;

    for _ in 0..3 {
        world.trigger(&source, &json!({})).await;
    }

    assert_eq!(world.events(&source, "default").await, [json!(1), json!(2), json!(3)]);
}

async fn a_duplicate_is_not_emitted_again(world: World) {
    let source = world.endpoint("dedupe: 'unique', run(event) { this.$emit(event.body, {id: event.body.id}); }").await;

    for id in [1, 2, 1] {
        world.trigger(&source, &json!({"id": id})).await;
    }

    assert_eq!(world.events(&source, "default").await, [json!({"id": 1}), json!({"id": 2})]);
}

async fn an_endpoint_is_only_there_while_its_source_is_active(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let path = format!("/v1/sources/{}", source.id);
    let status = async |client: &Client| client.trigger(&source.endpoint, &json!(1)).await.unwrap().status;

    world.client.put(&path, &json!({"active": false})).await.unwrap().success().unwrap();
    let inactive = status(&world.client).await;
    world.client.put(&path, &json!({"active": true})).await.unwrap().success().unwrap();
    let active = status(&world.client).await;
    world.client.delete(&path).await.unwrap().success().unwrap();
    let deleted = status(&world.client).await;

    assert_eq!((inactive, active, deleted), (404, 200, 404));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_only_reads_finds_no_address_of_an_endpoint() {
    let world = World::with(&["--wildcard-domain", "hooks.invalid"]).await;
    let run = "async run(event) {
        console.log(this.http.endpoint);
        this.db.set('at', {[this.http.endpoint]: encodeURIComponent(event.url)});
        this.$emit({event, endpoint: this.http.endpoint});
        if (event.body.fails) throw new Error(`no ${event.url}`, {cause: new Error(this.http.endpoint)});
    }";
    let source = world.endpoint(run).await;
    let path = format!("/v1/sources/{}", source.id);
    world.client.put(&format!("{path}/recording"), &json!({"mode": "all"})).await.unwrap().success().unwrap();
    let wish = json!({"name": "reader", "scopes": ["read"]});
    let made = world.client.post("/v1/users/me/keys", &wish).await.unwrap().data();
    let reader = Client::new(&world.client.at(""), &text(&made["api_key"]));
    let key = source.endpoint.rsplit('/').next().unwrap();
    let mut streams = Vec::new();
    for client in [&reader, &world.client] {
        let mut stream = client.stream(&format!("{path}/sse?event_name=$errors"), None).await.unwrap();
        stream.is_open().await.unwrap();
        streams.push(stream);
    }

    let mut runs = Vec::new();
    for fails in [false, true] {
        let host = format!("{key}.hooks.invalid");
        let headers =
            [("content-type", "application/json"), ("referer", &source.endpoint), ("x-forwarded-host", &host)];
        let body = json!({"fails": fails}).to_string();
        let reply = world.client.call("POST", &source.endpoint, &headers, body.into()).await.unwrap();
        runs.push(reply.headers["x-wellspring-run"].to_str().unwrap().to_owned());
    }
    let mut sent = Vec::new();
    for stream in &mut streams {
        sent.push(stream.next().await.unwrap().data.to_string());
    }

    assert!(!sent[0].contains(key) && sent[0].contains("/e/********"), "{}", sent[0]);
    assert!(sent[1].contains(key), "{}", sent[1]);
    let paths = [
        path.clone(),
        "/v1/users/me/sources".to_owned(),
        format!("{path}/runs"),
        "/v1/runs".to_owned(),
        format!("/v1/runs/{}", runs[0]),
        format!("/v1/runs/{}", runs[1]),
        format!("{path}/event_summaries"),
        format!("{path}/event_summaries?expand=event"),
        format!("{path}/event_summaries?expand=event&event_name=$errors"),
        format!("{path}/event_summaries?expand=event&event_name=$runs"),
        format!("{path}/events"),
        format!("{path}/logs"),
        format!("{path}/db/at"),
    ];
    for path in paths {
        let whole = world.client.get(&path).await.unwrap().success().unwrap().to_string();
        let shown = reader.get(&path).await.unwrap().success().unwrap().to_string();
        assert!(whole.contains(key), "{path}: {whole}");
        assert!(!shown.contains(key) && shown.contains("********"), "{path}: {shown}");
    }
}
