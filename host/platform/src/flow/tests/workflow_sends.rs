//! E-mails and objects that workflows send through the operator's relays.

use serde_json::{Value, json};

use super::workflow_runs::{asking, code, deploy};
use super::{Config, Stage};
use crate::Error;
use crate::fake::{World, component};
use crate::manage::events::EventQuery;
use crate::manage::workflows;
use crate::ports::{Effect, EffectKind, Outcome, Recipients};
use crate::records::Workflow;

const MAIL: &str = "Wellspring <noreply@wells.test>";

async fn run(stage: &Stage, workflow: &Workflow) -> Option<String> {
    let ran = workflows::run(&stage.caller, &stage.world.platform, workflow.id.as_str(), json!({})).await.unwrap();
    stage.work().await;
    ran.error.map(|error| format!("{}: {}", error.code, error.message))
}

async fn told(stage: &Stage, workflow: &Workflow) -> Vec<String> {
    let query = EventQuery { is_expanded: true, ..EventQuery::default() };
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let page = workflows::errors(caller, platform, workflow.id.as_str(), query).await.unwrap();
    page.items.iter().map(|summary| summary.event["error"]["message"].as_str().unwrap_or_default().to_owned()).collect()
}

fn email(parameters: Value) -> Outcome {
    asking(EffectKind::SendEmail, &parameters)
}

#[tokio::test]
async fn an_email_goes_to_the_owner_of_the_account_and_again_when_the_relay_is_busy() {
    let stage = Stage::new().await;
    let relays = &stage.world.relays;
    relays.send_email_from(MAIL, Recipients::Owner);
    relays.refuse("come again", false);
    stage.world.sandbox.script("mails", |_| email(json!({"subject": "hello", "text": "there"})));
    let workflow = deploy(&stage, json!({"steps": [code("mails")]})).await;

    assert_eq!(run(&stage, &workflow).await, None);
    assert_eq!(relays.emails().len(), 0, "it is tried again later");
    stage.world.clock.advance(10_000);
    stage.work().await;

    let [(to, message)] = relays.emails().try_into().unwrap();
    assert_eq!(to, std::slice::from_ref(&stage.caller.user.email));
    assert!(message.contains("Subject: hello\r\n") && message.contains("dGhlcmU="), "{message}");
    stage.world.clock.advance(100_000_000);
    stage.work().await;
    assert_eq!((relays.emails().len(), told(&stage, &workflow).await.len()), (1, 0));
}

#[tokio::test]
async fn what_a_relay_refuses_for_good_is_told_at_once() {
    let stage = Stage::new().await;
    stage.world.relays.send_email_from(MAIL, Recipients::Any);
    stage.world.relays.refuse("550 no such user", true);
    stage.world.sandbox.script("mails", |_| email(json!({"to": "a@b.c", "subject": "s", "text": "t"})));
    let workflow = deploy(&stage, json!({"steps": [code("mails")]})).await;

    run(&stage, &workflow).await;

    assert_eq!(told(&stage, &workflow).await, ["$.send.email was given up: 550 no such user"]);
}

#[tokio::test]
async fn an_account_has_so_many_recipients_a_day() {
    let stage = Stage::with(World::new(|config| config.shares.emails_per_day = 3), Config::default()).await;
    stage.world.relays.send_email_from(MAIL, Recipients::Any);
    stage.world.sandbox.script("mails", |_| email(json!({"to": ["a@b.c", "d@e.f"], "subject": "s", "text": "t"})));
    stage.world.sandbox.script("one", |_| email(json!({"to": "a@b.c", "subject": "s", "text": "t"})));
    let two = deploy(&stage, json!({"steps": [code("mails")]})).await;
    let one = deploy(&stage, json!({"steps": [code("one")]})).await;

    for workflow in [&two, &two, &one, &one] {
        run(&stage, workflow).await;
    }

    let sent: Vec<usize> = stage.world.relays.emails().iter().map(|(to, _)| to.len()).collect();
    assert_eq!((sent, told(&stage, &two).await.len(), told(&stage, &one).await.len()), (vec![2, 1], 1, 1));
    stage.world.clock.advance(24 * 3600 * 1000);
    run(&stage, &two).await;
    assert_eq!(stage.world.relays.emails().len(), 3, "another day");
}

#[tokio::test]
async fn payloads_under_one_prefix_become_one_object() {
    let stage = Stage::new().await;
    stage.world.relays.open_bucket("lake");
    stage.world.sandbox.script("stores", |_| {
        let effect = |parameters: Value| Effect {
            kind: EffectKind::SendS3,
            parameters: serde_json::value::to_raw_value(&parameters).unwrap(),
        };
        let batched = (1..=3).map(|n| effect(json!({"bucket": "lake", "prefix": "events", "payload": {"n": n}})));
        let single = effect(json!({"bucket": "lake", "key": "a/b", "payload": "text"}));
        Outcome { effects: batched.chain([single]).collect(), ..Outcome::default() }
    });
    let workflow = deploy(&stage, json!({"steps": [code("stores")]})).await;

    assert_eq!(run(&stage, &workflow).await, None);

    let objects = stage.world.relays.objects();
    let single = objects.iter().find(|(name, _)| name == "lake/a/b").unwrap();
    let batched = objects.iter().find(|(name, _)| name.starts_with("lake/events/2025/06/22/12/")).unwrap();
    assert_eq!(
        (objects.len(), &single.1[..], &batched.1[..]),
        (2, &b"text"[..], &b"{\"n\":1}\n{\"n\":2}\n{\"n\":3}"[..])
    );
}

#[tokio::test]
async fn what_this_server_does_not_send_fails_the_step_or_the_deploy() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("mails", |_| email(json!({"subject": "s", "text": "t"})));
    stage
        .world
        .sandbox
        .script("stores", |_| asking(EffectKind::SendS3, &json!({"bucket": "b", "key": "k", "payload": "p"})));
    for name in ["mails", "stores"] {
        let workflow = deploy(&stage, json!({"steps": [code(name)]})).await;
        let error = run(&stage, &workflow).await.unwrap();
        assert!(error.starts_with("unsupported: $.send."), "{error}");
    }
    stage.world.relays.send_email_from(MAIL, Recipients::Owner);
    stage.world.sandbox.script("others", |_| email(json!({"to": "a@b.c", "subject": "s", "text": "t"})));
    let others = deploy(&stage, json!({"steps": [code("others")]})).await;
    assert!(run(&stage, &others).await.unwrap().contains("--smtp-recipients any"));

    let says = component("says", json!({"description": "calls $.send.s3(…)"}));
    let steps = json!([{"namespace": "says", "code": says}]);
    let refused = workflows::create(&stage.caller, &stage.world.platform, json!({"steps": steps})).await;
    let Err(Error::Workflow(problems)) = refused else { panic!("{refused:?}") };
    assert!(problems[0].message.contains("no object store"), "{problems:?}");
}
