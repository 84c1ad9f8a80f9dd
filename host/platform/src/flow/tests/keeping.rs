//! What one tenant keeps and queues is bounded, at the bound and one beyond it, and no other tenant notices.

use admission::{Full, Scope};
use serde_json::{Map, Value, json};
use store::{Op, Reads, Store};

use super::Stage;
use crate::fake::{World, component, emit, returned};
use crate::flow::{Answer, Config, Refusal};
use crate::manage::components::CodeRequest;
use crate::manage::sources::{CreateSource, create};
use crate::ports::Outcome;
use crate::records::Source;
use crate::{Caller, Error};

fn is_full(answer: &Result<Answer, Refusal>, name: &str) -> bool {
    matches!(answer, Err(Refusal::Full(Full { what, scope: Scope::Tenant })) if *what == name)
}

/// A source with an endpoint, of another tenant.
async fn of_another(stage: &Stage) -> (Caller, Source) {
    let other = stage.world.user(&stage.caller, "other").await;
    let code = component("echo", json!({"props": {"http": {"type": "$.interface.http"}}}));
    let component = CodeRequest { component_code: Some(code), ..CodeRequest::default() };
    let request = CreateSource { component, name: None, configured_props: Map::new(), project: None };
    let source = create(&other, &stage.world.platform, request).await.unwrap();
    (other, source)
}

fn large() -> Value {
    json!("x".repeat(10_000))
}

#[tokio::test]
async fn a_tenant_that_keeps_as_much_as_it_may_is_refused_until_it_deletes() {
    let world = World::new(|config| config.shares.stored_bytes = 100_000);
    let stage = Stage::with(world, Config::default()).await;
    let (_, others) = of_another(&stage).await;
    let source = stage.endpoint("echo", json!({})).await;
    let platform = &stage.world.platform;

    let mut accepted = 0;
    while stage.post(&source, large()).await.is_ok() {
        accepted += 1;
        assert!(accepted < 20, "there is no bound");
    }

    assert!((8..=10).contains(&accepted), "{accepted}");
    assert!(is_full(&stage.post(&source, large()).await, "stored_bytes"));
    let stored = stage.world.store.stored_bytes(&stage.caller.tenant).await.unwrap();
    assert!(stored < 115_000, "{stored}");
    let request = CreateSource { component: code(), ..CreateSource::default() };
    assert!(matches!(create(&stage.caller, platform, request).await, Err(Error::NoRoom { limit_bytes: 100_000 })));
    let errors = stage.stream(&source, "$errors").await;
    assert_eq!(errors.len(), 1, "one report");
    assert_eq!(errors[0]["error"]["code"], "stored_bytes");
    assert!(stage.post(&others, large()).await.is_ok());

    let drop = Op::DropEmitter { emitter: source.id.to_string(), max: 100 };
    stage.world.store.commit(platform.batch(&stage.caller.tenant).then(drop)).await.unwrap();
    stage.world.clock.advance(5000);
    assert!(stage.post(&source, large()).await.is_ok());
}

fn code() -> CodeRequest {
    CodeRequest { component_code: Some(component("more", json!({}))), ..CodeRequest::default() }
}

#[tokio::test]
async fn deliveries_of_a_tenant_without_room_wait_and_are_not_lost() {
    let world = World::new(|config| config.shares.stored_bytes = 100_000);
    let stage = Stage::with(world, Config::default()).await;
    let source = stage.endpoint("echo", json!({})).await;
    let listener = stage.deploy("listener", json!({})).await;
    stage.subscribe(source.id.as_str(), listener.id.as_str(), "").await;
    while stage.post(&source, large()).await.is_ok() {}

    stage.work().await;
    let before = stage.stream(&listener, "default").await.len();
    let drop = Op::DropEmitter { emitter: source.id.to_string(), max: 100 };
    stage.world.store.commit(stage.world.platform.batch(&stage.caller.tenant).then(drop)).await.unwrap();
    stage.world.clock.advance(60_000);
    stage.work().await;

    assert_eq!(before, 0);
    assert!(stage.stream(&listener, "default").await.len() >= 8);
}

#[tokio::test]
async fn events_that_find_no_room_in_the_queue_are_kept_and_the_source_is_told() {
    // Each of the two deploys has left one job in the queue.
    let world = World::new(|config| config.shares.queued_jobs = 2 + 3);
    let stage = Stage::with(world, Config::default()).await;
    let (_, others) = of_another(&stage).await;
    stage.world.sandbox.script("many", |call| {
        let count = call["event"].as_u64().unwrap();
        Outcome { emits: (0..count).map(|n| emit(&json!(n))).collect(), ..returned(&json!(null)) }
    });
    let source = stage.endpoint("many", json!({})).await;
    let listener = stage.deploy("listener", json!({})).await;
    stage.subscribe(source.id.as_str(), listener.id.as_str(), "").await;

    stage.post(&source, json!(3)).await.unwrap();
    stage.post(&source, json!(1)).await.unwrap();

    assert_eq!(stage.stream(&source, "default").await.len(), 4, "the run counts");
    let errors = stage.stream(&source, "$errors").await;
    assert_eq!((errors.len(), &errors[0]["error"]["code"]), (1, &json!("fan_out")));
    assert!(errors[0]["error"]["stack"].as_str().unwrap().contains("queued_jobs"), "{errors:?}");
    assert!(is_full(&stage.post(&source, json!(1)).await, "queued_jobs"));
    assert!(stage.post(&others, json!(1)).await.is_ok());

    stage.work().await;
    stage.world.clock.advance(1000);
    assert_eq!(stage.stream(&listener, "default").await.len(), 3, "what was queued is delivered");
    assert!(stage.post(&source, json!(3)).await.is_ok());
    stage.work().await;
    assert_eq!(stage.stream(&listener, "default").await.len(), 6);
}
