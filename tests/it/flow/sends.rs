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

/// Stores with the account behind its prop `store`.
const STORES: &str = "props: {store: {type: 'app', app: 'object_store'}}, run({ $ }) { $.send.s3({bucket: 'lake', key: this.key ?? 'own/a.txt', payload: 'mine', auth: 'store'}) }";

/// An account with keys of the object store: of `S3RVER`, which it knows, or of another, which it refuses.
async fn connect(world: &World, relays: &Relays, id: &str) -> String {
    let app = json!({"name_slug": "object_store", "name": "Object store", "auth_type": "keys"});
    world.client.post("/v1/admin/apps", &app).await.unwrap().data();
    let credentials = json!({"access_key_id": id, "secret_access_key": "S3RVER", "endpoint": relays.object_store()});
    let account = json!({"app": "object_store", "name": id, "credentials": credentials});
    text(&world.client.post("/v1/accounts", &account).await.unwrap().data()["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_stored_with_the_keys_of_a_connected_account() {
    let relays = Relays::start().await;
    // The operator has no object store.
    let world = World::on_sqlite().await;
    let account = connect(&world, &relays, "S3RVER").await;
    let wrong = connect(&world, &relays, "another-key-planted").await;
    let run = async |account: &str, code: &str| {
        let props = json!({"store": {"authProvisionId": account}});
        let steps = json!([{"namespace": "stores", "code": code, "props": props}]);
        let workflow = world.client.post("/v1/workflows", &json!({"steps": steps})).await.unwrap().data();
        let path = format!("/v1/workflows/{}", text(&workflow["id"]));
        let ran = world.client.post(&format!("{path}/run"), &json!({})).await.unwrap().data();
        (path, ran)
    };

    let (_, ran) = run(&account, &format!("export default {{ {STORES} }}")).await;
    assert_eq!(ran["state"], "success", "{ran}");
    assert_eq!(relays.objects("lake", "own", 1).await, [("own/a.txt".to_owned(), "mine".to_owned())]);

    // By its id as well, but no account that the step was not given.
    let by_id = STORES.replace("'store'})", &format!("'{account}'}})")).replace("own/a.txt", "id/a.txt");
    let (_, ran) = run(&account, &format!("export default {{ {by_id} }}")).await;
    assert_eq!(ran["state"], "success", "{ran}");
    assert_eq!(relays.objects("lake", "id", 1).await.len(), 1);
    let (_, foreign) = run(&wrong, &format!("export default {{ {by_id} }}")).await;
    assert_eq!(foreign["error"]["code"], "invalid_parameters", "{foreign}");
    assert!(text(&foreign["error"]["message"]).contains("$.send.s3.auth"), "{foreign}");

    // Nothing of the keys is in what is kept and told.
    assert!(!ran.to_string().contains("S3RVER") && !foreign.to_string().contains("planted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_run_by_hand_sends_mail_and_stores_objects_or_says_why_not() {
    let mut relays = Relays::start().await;
    let configured = world(&relays, &[]).await;
    let bare = World::on_sqlite().await;
    let act = "module.exports = {name: 'Act', version: '1', key: 'act', type: 'action', props: {PROPS}, run({ $ }) { $.send.email({subject: 'by hand', text: 'hello'}); $.send.s3({bucket: 'lake', key: 'by-hand.txt', payload: 'one'}); if (this.store) $.send.s3({bucket: 'lake', prefix: 'by-hand', payload: 'two', auth: 'store'}); }}";
    let run = async |world: &World, props: Value| {
        let declared = if props["store"].is_null() { "" } else { "store: {type: 'app', app: 'object_store'}" };
        let code = act.replace("PROPS", declared);
        world.client.post("/v1/components", &json!({"component_code": code})).await.unwrap().data();
        world.client.post("/v1/components/act/run", &json!({"configured_props": props})).await.unwrap().data()
    };

    let account = connect(&configured, &relays, "S3RVER").await;
    let done = run(&configured, json!({"store": {"authProvisionId": account}})).await;

    assert_eq!((&done["ok"], done["sends"].as_array().map(Vec::len)), (&json!(true), Some(3)), "{done}");
    assert_eq!(done["sends"][1], json!({"kind": "s3", "ok": true, "url": "s3://lake/by-hand.txt"}));
    assert!(text(&relays.next_mail().await["message"]).contains("Subject: by hand"));
    let stored: Vec<String> = relays.objects("lake", "", 2).await.into_iter().map(|(_, body)| body).collect();
    assert!(stored.contains(&"one".to_owned()) && stored.contains(&"two".to_owned()), "{stored:?}");

    // Keys that the store refuses, and a server without relays.
    let wrong = connect(&configured, &relays, "another-key").await;
    let refused = run(&configured, json!({"store": {"authProvisionId": wrong}})).await;
    let last = &refused["sends"][2];
    assert_eq!((&refused["error"]["code"], &last["ok"]), (&json!("not_sent"), &json!(false)), "{refused}");
    assert!(text(&last["error"]).starts_with("the object store answered 403"), "{refused}");
    let nothing = run(&bare, json!({})).await;
    let reasons: Vec<String> = nothing["sends"].as_array().unwrap().iter().map(|send| text(&send["error"])).collect();
    assert!(reasons[0].contains("--smtp-url") && reasons[1].contains("--s3-endpoint"), "{nothing}");
    assert_eq!((&nothing["ok"], &nothing["error"]["code"]), (&json!(false), &json!("unsupported")));
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
