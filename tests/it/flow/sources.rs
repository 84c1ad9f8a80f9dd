//! Hooks, timers, logs and runs by hand.

use rig::receiver::{Answer, Receiver};
use serde_json::json;

use super::{Deployed, World, on_every_store, text};

on_every_store! {
    hooks_run_in_their_order_and_emit,
    a_hook_that_throws_leaves_nothing_behind,
    a_timer_ticks_and_the_next_tick_remembers_the_last,
    log_lines_are_kept_and_an_exception_is_an_error_event,
    a_run_by_hand_answers_with_what_it_did,
    a_run_by_hand_that_fails_tells_the_cause,
    an_action_run_by_hand_does_what_it_asked_for,
    events_are_deleted_by_range,
    what_a_require_computes_and_cannot_find_is_told_when_it_is_deployed,
}

async fn hooks_run_in_their_order_and_emit(world: World) {
    let hooks = "hooks: {deploy() { this.$emit('deploy'); }, activate() { this.$emit('activate'); }, \
                 deactivate() { this.$emit('deactivate'); }}, run() {}";
    let source = world.endpoint(hooks).await;

    let path = format!("/v1/sources/{}", source.id);
    world.client.put(&path, &json!({"active": false})).await.unwrap().success().unwrap();

    let events = world.events(&source, "default").await;
    assert_eq!(events, [json!("deploy"), json!("activate"), json!("deactivate")]);
}

async fn a_hook_that_throws_leaves_nothing_behind(world: World) {
    let hook = "activate() { throw new Error('not today', {cause: new Error('closed')}); }";
    let code = format!("module.exports = {{name: 'a', version: '1', hooks: {{{hook}}}, run() {{}}}}");

    let reply = world.client.post("/v1/sources", &json!({"component_code": code})).await.unwrap();

    assert_eq!(reply.status, 422);
    assert!(text(&reply.json()["error"]).contains("not today"), "{}", reply.text());
    assert_eq!(reply.json()["details"]["cause"]["message"], "closed", "{}", reply.text());
    assert!(world.client.list("/v1/users/me/sources").await.unwrap().is_empty());
}

async fn a_timer_ticks_and_the_next_tick_remembers_the_last(world: World) {
    let props = "timer: {type: '$.interface.timer', default: {intervalSeconds: 1}}, db: '$.service.db'";
    let run = "run(event) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); \
               this.$emit({n, seconds: event.interval_seconds, has_time: event.timestamp > 0}); }";

    let source = world.deploy(props, run).await;
    let ticks = world.wait_for_events(&source, "default", 2).await;

    let tick = |n: u32| json!({"n": n, "seconds": 1, "has_time": true});
    assert_eq!(ticks, [tick(1), tick(2)]);
}

async fn log_lines_are_kept_and_an_exception_is_an_error_event(world: World) {
    let run = "run() { console.log('before', {n: 1}); throw new TypeError('broken', {cause: new Error('deep')}); }";
    let source = world.endpoint(run).await;
    let path = format!("/v1/sources/{}/sse?event_name=$logs", source.id);
    let mut stream = world.client.stream(&path, None).await.unwrap();
    stream.is_open().await.unwrap();

    world.trigger(&source, &json!({"n": 7})).await;

    let streamed = stream.next().await.unwrap().data;
    assert!(text(&streamed["event"]["message"]).starts_with("before"), "{streamed}");
    let logs = world.client.get(&format!("/v1/sources/{}/logs", source.id)).await.unwrap().data();
    assert_eq!(logs.as_array().unwrap().len(), 2);
    assert!(text(&logs[0]["message"]).contains("[cause]: Error: deep"), "{logs}");
    let errors = world.events(&source, "$errors").await;
    let error = &errors[0]["error"];
    assert_eq!((errors.len(), &error["name"], &error["message"]), (1, &json!("TypeError"), &json!("broken")));
    assert_eq!(errors[0]["error"]["cause"]["message"], "deep");
    assert_eq!(errors[0]["original_event"]["body"], json!({"n": 7}));
    assert!(world.events(&source, "default").await.is_empty());
}

async fn a_run_by_hand_answers_with_what_it_did(world: World) {
    let source = world.endpoint("run(event) { console.log('hi'); this.$emit(event, {summary: 'by hand'}); }").await;

    let ran = world.client.post(&format!("/v1/sources/{}/run", source.id), &json!({"n": 1})).await.unwrap().data();

    assert_eq!((&ran["ok"], &ran["emitted_count"]), (&json!(true), &json!(1)));
    assert_eq!(ran["emitted"][0]["metadata"]["summary"], "by hand");
    assert_eq!(ran["logs"][0]["message"], "hi");
    assert_eq!(world.events(&source, "default").await, [json!({"n": 1})]);
}

async fn a_run_by_hand_that_fails_tells_the_cause(world: World) {
    let source = world.endpoint("async run() { await fetch('http://127.0.0.1:9/'); }").await;

    let ran = world.client.post(&format!("/v1/sources/{}/run", source.id), &json!({})).await.unwrap().data();

    let (error, cause) = (&ran["error"], &ran["error"]["cause"]);
    assert_eq!((&ran["ok"], &error["message"]), (&json!(false), &json!("fetch failed")), "{ran}");
    assert_eq!((cause["code"].as_str(), text(&cause["message"]).is_empty()), (Some("EACCES"), false), "{ran}");
    assert!(text(&error["stack"]).contains(&text(&cause["message"])), "{ran}");
}

async fn an_action_run_by_hand_does_what_it_asked_for(world: World) {
    let (receiver, mut inbox) = Receiver::with_inbox(|_| Answer::status(204)).await;
    let code = "module.exports = {name: 'Acts', version: '1', type: 'action', hooks: {deploy() {}}, \
                props: {timer: '$.interface.timer', n: 'string', url: 'string'}, \
                run({$}) { $.export('$summary', `did ${this.n.length}`); $.respond({status: 202, body: 'fine'}); \
                $.send.http({url: this.url, data: {n: this.n}}); $.send.email({subject: 's', text: 't'}); \
                return $.flow.exit('enough'); }}";
    let saved = world.client.post("/v1/components", &json!({"component_code": code})).await.unwrap().data();
    assert_eq!(saved["notes"][0]["path"], "hooks");

    let path = format!("/v1/components/{}/run", text(&saved["id"]));
    let props = json!({"n": {"label": "Five", "value": 5}, "url": receiver.url("/")});
    let ran = world.client.post(&path, &json!({"configured_props": props})).await.unwrap().data();

    assert_eq!(inbox.next().await.json(), json!({"n": "5"}));
    assert_eq!((&ran["exports"]["$summary"], &ran["exit"]), (&json!("did 1"), &json!({"reason": "enough"})));
    assert_eq!((&ran["reply"]["status"], &ran["reply"]["body"]), (&json!(202), &json!("fine")));
    assert_eq!((&ran["sends"][0]["ok"], &ran["sends"][0]["status"]), (&json!(true), &json!(204)));
    assert_eq!(
        ran["sends"][1],
        json!({"kind": "email", "ok": false, "error": "this server has no mail relay: its operator sets one with --smtp-url"})
    );
    assert_eq!((&ran["ok"], &ran["error"]["code"]), (&json!(false), &json!("unsupported")));
}

async fn events_are_deleted_by_range(world: World) {
    let source = world.endpoint(super::EMIT_BODY).await;
    for number in 0..4 {
        world.trigger(&source, &json!(number)).await;
    }
    let ids: Vec<String> =
        world.client.events(&source.id, "default").await.unwrap().iter().map(|event| text(&event["id"])).collect();

    let query = format!("start_id={}&end_id={}", ids[1], ids[2]);
    let deleted = world.client.delete(&format!("/v1/sources/{}/events?{query}", source.id)).await.unwrap();

    assert_eq!(deleted.status, 202);
    assert_eq!(left(&world, &source, 2).await, [json!(0), json!(3)]);
}

/// Deletion is asynchronous: asks until as many are left.
async fn left(world: &World, source: &Deployed, count: usize) -> Vec<serde_json::Value> {
    for _ in 0..1000 {
        let events = world.events(source, "default").await;
        if events.len() == count {
            return events;
        }
    }
    world.events(source, "default").await
}

async fn what_a_require_computes_and_cannot_find_is_told_when_it_is_deployed(world: World) {
    let code = "module.exports = {name: 'a', version: '1', run({step}) {\n  return require('./steps/' + step);\n}};";
    let body = json!({"component_code": code});

    let saved = world.client.post("/v1/components", &body).await.unwrap().data();
    let source = world.client.post("/v1/sources", &body).await.unwrap().data();
    let logs = world.client.get(&format!("/v1/sources/{}/logs", text(&source["id"]))).await.unwrap().data();

    let told = text(&saved["warnings"][0]);
    assert!(told.contains(":2: `require` of something computed") && told.contains("./handlers/"), "{saved}");
    assert_eq!((&logs[0]["level"], text(&logs[0]["message"])), (&json!("warn"), told), "{logs}");
}
