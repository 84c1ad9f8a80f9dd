//! Tests of actions that are run by hand.

use serde_json::{Value, json};

use super::{code, object, world};
use crate::fake::{World, component, returned, threw};
use crate::manage::components;
use crate::ports::{Effect, EffectKind, Outcome, Reply};

fn effect(kind: EffectKind, parameters: Value) -> Effect {
    Effect { kind, parameters: serde_json::value::to_raw_value(&parameters).unwrap() }
}

/// An action that asks for these, run by hand.
async fn run_asking(effects: Vec<Effect>, outcome: fn() -> Outcome) -> (World, components::ActionRun) {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&component("Act", json!({"type": "action"}))));
    let saved = saved.await.unwrap();
    world.sandbox.script_async("Act", move |_, services| {
        // As the guest does: `$.respond` answers at once.
        services.reply(Reply { status: 201, headers: vec![("x".into(), "1".into()); 2], body: "made".into() });
        std::future::ready(Outcome { effects: effects.clone(), ..outcome() })
    });
    world.outbound.answer("https://example.com/broken", 500);
    let props = object(json!({}));
    let run = components::run_action(&caller, &world.platform, saved.id.as_str(), &props, Value::Null).await.unwrap();
    (world, run)
}

#[tokio::test]
async fn an_action_run_by_hand_sends_and_tells_its_reply_and_exit() {
    let effects = vec![
        effect(EffectKind::SendHttp, json!({"url": "https://example.com/a", "data": {"n": 1}})),
        effect(EffectKind::Exit, json!({"reason": "enough"})),
    ];

    let (world, run) = run_asking(effects, || returned(&Value::Null)).await;

    let run = json!(run);
    assert_eq!((&run["ok"], &run["error"]), (&json!(true), &Value::Null));
    let sent = json!({"kind": "http", "ok": true, "method": "POST", "url": "https://example.com/a", "status": 200});
    assert_eq!(run["sends"], json!([sent]));
    let posted = world.outbound.posted();
    assert_eq!((posted.len(), posted[0].body.as_ref()), (1, &br#"{"n":1}"#[..]));
    assert_eq!(run["reply"], json!({"status": 201, "headers": {"x": ["1", "1"]}, "body": "made"}));
    assert_eq!(run["exit"], json!({"reason": "enough"}));
}

#[tokio::test]
async fn what_an_action_sends_in_vain_is_in_its_result() {
    let effects = vec![
        effect(EffectKind::SendEmail, json!({"subject": "s", "text": "t"})),
        effect(EffectKind::SendEmit, json!({"a": 1})),
        effect(EffectKind::SendHttp, json!({"url": "https://example.com/broken"})),
        effect(EffectKind::SendHttp, json!({"url": "https://example.com/fine"})),
    ];

    let (world, run) = run_asking(effects.clone(), || returned(&json!("done"))).await;
    let (failed_world, failed) = run_asking(effects, || threw("no")).await;

    let told: Vec<String> = run.sends.iter().map(|send| send.error.clone().unwrap_or_default()).collect();
    assert!(told[0].contains("this server has no mail relay"), "{told:?}");
    assert!(told[1].contains("has no stream to emit to"), "{told:?}");
    assert_eq!((told[2].as_str(), run.sends[2].status), ("the receiver answered 500", Some(500)));
    assert!(run.sends[3].ok && world.outbound.posted().len() == 2);
    assert_eq!((run.ok, run.return_value), (false, json!("done")));
    assert_eq!(run.error.unwrap(), json!({"code": "unsupported", "message": format!("$.send.email: {}", told[0])}));
    assert!(failed.sends.is_empty() && failed_world.outbound.posted().is_empty());
    assert_eq!(failed.error.unwrap()["message"], "no");
}

#[tokio::test]
async fn an_action_run_by_hand_sends_a_hundred_times_at_most() {
    let one = effect(EffectKind::SendHttp, json!({"url": "https://example.com/a"}));

    let (world, run) = run_asking(vec![one; 101], || returned(&Value::Null)).await;

    assert_eq!((world.outbound.posted().len(), run.sends.len()), (100, 101));
    assert!(run.sends[99].ok && !run.sends[100].ok);
}
