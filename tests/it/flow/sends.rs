//! What workflows send through the operator's relays, received by a real mail server and a real object store.

use rig::relays::Relays;
use serde_json::{Value, json};

use super::{World, text};

async fn world(relays: &Relays, more: &[&str]) -> World {
    let options: Vec<String> = relays.options().into_iter().chain(more.iter().map(|one| (*one).to_owned())).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    World::with_environment(&options, vec![Relays::environment()]).await
}

async fn run(world: &World, body: &str, event: Value) -> Value {
    let code = format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }})");
    let document = json!({"settings": {"name": "sends"}, "steps": [{"namespace": "sends", "code": code}]});
    let workflow = world.client.post("/v1/workflows", &document).await.unwrap().data();
    let path = format!("/v1/workflows/{}", text(&workflow["id"]));
    let ran = world.client.post(&format!("{path}/run"), &json!({"event": event})).await.unwrap().data();
    json!({"path": path, "ran": ran})
}

async fn errors(world: &World, path: &str) -> Vec<Value> {
    let found = world.client.get(&format!("{path}/$errors/event_summaries?expand=event")).await.unwrap().data();
    found.as_array().unwrap().iter().map(|summary| summary["event"]["error"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_server_receives_what_a_workflow_sends() {
    let mut relays = Relays::start().await;
    let world = world(&relays, &[]).await;
    let me = world.client.get("/v1/users/me").await.unwrap().data();

    let body = "$.send.email({subject: 'Grüße an alle', text: `order ${steps.trigger.event.number}\\n.\\n.end`, html: '<b>x</b>'})";
    let sent = run(&world, body, json!({"number": 7})).await;

    assert_eq!(sent["ran"]["state"], "success", "{sent}");
    let mail = relays.next_mail().await;
    assert_eq!((&mail["from"], &mail["to"]), (&json!("noreply@wells.test"), &json!([me["email"]])));
    let message = text(&mail["message"]);
    assert!(message.contains("From: Wellspring <noreply@wells.test>") && message.contains("multipart/alternative"));
    // "order 7\n.\n.end" and the subject, in base64.
    assert!(
        message.contains("b3JkZXIgNwouCi5lbmQ=") && message.contains("=?utf-8?B?R3LDvMOfZSBhbiBhbGxl?="),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_is_refused_for_good_is_told_and_others_are_not_an_open_relay() {
    let mut relays = Relays::start().await;
    let world = world(&relays, &["--smtp-recipients", "any"]).await;
    let refused = run(&world, "$.send.email({to: 'nobody@x.test', subject: 's', text: 't'})", json!({})).await;
    let path = text(&refused["path"]);
    let error = loop {
        if let Some(error) = errors(&world, &path).await.into_iter().next() {
            break error;
        }
    };
    assert_eq!(error["code"], "not_sent");
    assert!(text(&error["message"]).contains("no such user"), "{error}");
    run(&world, "$.send.email({to: ['a@x.test', 'b@x.test'], subject: 's', text: 't'})", json!({})).await;
    assert_eq!(relays.next_mail().await["to"], json!(["a@x.test", "b@x.test"]));

    let closed = self::world(&relays, &[]).await;
    let refused = run(&closed, "$.send.email({to: 'a@x.test', subject: 's', text: 't'})", json!({})).await;
    assert_eq!(refused["ran"]["error"]["code"], "unsupported", "{refused}");
    assert!(text(&refused["ran"]["error"]["message"]).contains("--smtp-recipients"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_store_receives_what_a_workflow_sends() {
    let relays = Relays::start().await;
    let world = world(&relays, &[]).await;

    let body = "$.send.s3({bucket: 'lake', key: 'a b/ü.txt', payload: 'hello'});
        for (const n of [1, 2, 3]) $.send.s3({bucket: 'lake', prefix: 'events/', payload: {n}})";
    let sent = run(&world, body, json!({})).await;

    assert_eq!(sent["ran"]["state"], "success", "{sent}");
    let one = relays.objects("lake", "a b", 1).await;
    assert_eq!(one, [("a b/ü.txt".to_owned(), "hello".to_owned())]);
    let batched = relays.objects("lake", "events", 1).await;
    assert_eq!((batched.len(), batched[0].1.as_str()), (1, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}"));

    let closed = run(&world, "$.send.s3({bucket: 'other', key: 'k', payload: 'x'})", json!({})).await;
    assert_eq!(closed["ran"]["error"]["code"], "unsupported", "{closed}");
    assert!(text(&closed["ran"]["error"]["message"]).contains("--s3-bucket"), "{closed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_relays_says_so_when_the_step_is_deployed() {
    let world = World::on_sqlite().await;
    for call in ["$.send.email({subject: 's', text: 't'})", "$.send.s3({bucket: 'b', key: 'k', payload: 'p'})"] {
        let code = format!("export default defineComponent({{ run({{ $ }}) {{ {call} }} }})");
        let document = json!({"steps": [{"namespace": "sends", "code": code}]});
        let refused = world.client.post("/v1/workflows", &document).await.unwrap();
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(refused.text().contains("its operator sets one with"), "{}", refused.text());
    }
}
