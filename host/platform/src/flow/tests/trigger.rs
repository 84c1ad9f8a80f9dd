//! Tests of trigger.

use std::time::Duration;

use admission::{Full, Scope, Share};
use domain::users::{Plan, Quotas};
use serde_json::json;
use store::Reads;

use super::{Hold, Stage};
use crate::Rate;
use crate::fake::{World, emit, returned, threw};
use crate::flow::{Answer, Config, Refusal};
use crate::manage::sources::{UpdateSource, update};
use crate::manage::users::{UserChange, update as update_user};
use crate::ports::{Fault, Outcome, Reply};

fn custom() -> serde_json::Value {
    json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}})
}

fn reply(status: u16) -> Reply {
    Reply { status, headers: Vec::new(), body: "hi".into() }
}

async fn acceptances(stage: &Stage) -> u64 {
    let page = store::Page::newest(1);
    stage.world.store.records(&stage.caller.tenant, "acceptance", page).await.unwrap().total
}

#[tokio::test]
async fn a_short_run_is_its_own_acceptance() {
    let stage = Stage::new().await;
    let source = stage.endpoint("echo", json!({})).await;

    let answer = stage.post(&source, json!({"n": 1})).await.unwrap();

    assert_eq!(answer, Answer::Accepted);
    assert_eq!(stage.stream(&source, "default").await, [json!({"n": 1})]);
    assert_eq!(acceptances(&stage).await, 0);
}

#[tokio::test]
async fn each_interface_answers_in_its_own_way() {
    let stage = Stage::new().await;
    stage.world.sandbox.script_async("both", |_, services| async move {
        services.reply(reply(418));
        returned(&json!(null))
    });
    let answers = json!({"type": "$.interface.http", "customResponse": true});
    let props = json!({"props": {"accepts": {"type": "$.interface.http"}, "answers": answers}});
    let source = stage.deploy("both", props).await;
    let post = async |prop: &str| {
        let admitted = stage.handle.admit(source.endpoint_of(prop).as_str()).await.unwrap();
        assert_eq!(admitted.interface(), prop);
        stage.handle.trigger(admitted, json!(null)).await.unwrap().answer
    };

    assert_eq!(post("accepts").await, Answer::Accepted);
    assert_eq!(post("answers").await, Answer::Replied(reply(418)));
}

#[tokio::test]
async fn a_slow_run_is_accepted_answered_and_goes_on() {
    let stage = Stage::new().await;
    let held = Hold::default();
    let inside = held.clone();
    stage.world.sandbox.script_async("slow", move |call, _| {
        let inside = inside.clone();
        async move {
            inside.pass().await;
            Outcome { emits: vec![emit(&call["event"])], ..returned(&json!(null)) }
        }
    });
    let source = stage.endpoint("slow", json!({})).await;

    let asking = stage.post_aside(&source, json!(1));
    held.started.notified().await;
    stage.world.clock.advance(5);
    let answer = asking.await.unwrap().unwrap();
    let (accepted, early) = (acceptances(&stage).await, stage.stream(&source, "default").await);
    held.released.notify_one();
    stage.wait_for_runs().await;

    assert_eq!((answer, accepted, early), (Answer::Accepted, 1, vec![]));
    assert_eq!(stage.stream(&source, "default").await, [json!(1)]);
    assert_eq!(acceptances(&stage).await, 0);
}

#[tokio::test]
async fn where_many_are_not_answered_yet_a_run_has_longer_before_it_is_accepted() {
    let stage = Stage::with(World::new(|_| ()), Config { threads: 1, ..Config::default() }).await;
    let held = stage.script_slow();
    let source = stage.endpoint("slow", json!({})).await;
    let pools = stage.handle.platform.pools();
    let others: Vec<_> = (0..20).map(|_| pools.request("another").unwrap()).collect();

    let asking = stage.post_aside(&source, json!(1));
    held.started.notified().await;
    assert_eq!(stage.handle.grace_ends_ms(), stage.now_ms() + 15);
    stage.world.clock.advance(15);
    assert_eq!(asking.await.unwrap().unwrap(), Answer::Accepted);

    drop(others);
    assert_eq!(stage.handle.grace_ends_ms(), stage.now_ms() + 5, "answered, though it runs on");
    held.released.notify_one();
    stage.wait_for_runs().await;
}

#[tokio::test]
async fn a_component_that_responds_is_the_one_that_answers() {
    let stage = Stage::new().await;
    stage.world.sandbox.script_async("answers", |_, services| async move {
        services.reply(reply(201));
        returned(&json!(null))
    });
    let source = stage.endpoint("answers", custom()).await;

    let answer = stage.post(&source, json!({})).await.unwrap();

    assert_eq!(answer, Answer::Replied(reply(201)));
}

#[tokio::test]
async fn a_reply_is_handed_over_while_the_run_goes_on_and_the_request_is_durable_by_then() {
    let stage = Stage::new().await;
    let hold = Hold::default();
    let inside = hold.clone();
    stage.world.sandbox.script_async("answers", move |_, services| {
        let inside = inside.clone();
        async move {
            services.reply(reply(200));
            inside.pass().await;
            returned(&json!(null))
        }
    });
    let source = stage.endpoint("answers", custom()).await;

    let answer = stage.post_held(&source, &hold).await;

    assert_eq!(answer, Answer::Replied(reply(200)));
    assert_eq!(acceptances(&stage).await, 1);
    hold.released.notify_one();
    stage.wait_for_runs().await;
    assert_eq!(acceptances(&stage).await, 0);
}

#[tokio::test]
async fn a_run_that_ends_without_a_response_is_an_error_and_a_deadline_another() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("throws", |_| threw("no"));
    let deadline = || Fault::Deadline { limit: Duration::from_secs(30) };
    stage.world.sandbox.script("late", move |_| Outcome { fault: Some(deadline()), ..Outcome::default() });
    let (throws, late) = (stage.endpoint("throws", custom()).await, stage.endpoint("late", custom()).await);

    let (thrown, timed_out) = (stage.post(&throws, json!({})).await, stage.post(&late, json!({})).await);

    assert!(matches!(thrown, Err(Refusal::NoResponse { .. })));
    assert!(matches!(timed_out, Err(Refusal::TimedOut { .. })));
    assert_eq!(stage.stream(&throws, "$errors").await[0]["error"]["message"], "no");
}

#[tokio::test]
async fn unknown_endpoints_inactive_sources_and_sources_without_an_endpoint_are_not_found() {
    let stage = Stage::new().await;
    let (inactive, plain) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    let change = UpdateSource { active: Some(false), ..UpdateSource::default() };
    update(&stage.caller, &stage.world.platform, inactive.id.as_str(), change).await.unwrap();

    for key in ["", "short", "0123456789012345678901", inactive.endpoint_key.as_str(), plain.endpoint_key.as_str()] {
        assert!(matches!(stage.handle.admit(key).await, Err(Refusal::NotFound)), "{key}");
    }
}

#[tokio::test]
async fn a_source_that_changed_is_run_as_it_is_now() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!(1)).await.unwrap();

    let change = UpdateSource { active: Some(false), ..UpdateSource::default() };
    update(&stage.caller, &stage.world.platform, source.id.as_str(), change).await.unwrap();

    assert!(matches!(stage.post(&source, json!(2)).await, Err(Refusal::NotFound)));
}

#[tokio::test]
async fn endpoints_and_tenants_have_their_own_rates() {
    let rate = |burst| Rate { per_second: 1, burst };
    let config = Config { endpoint_rate: rate(2), tenant_rate: rate(3), ..Config::default() };
    let stage = Stage::with(World::default(), config).await;
    let (one, other) = (stage.endpoint("a", json!({})).await, stage.endpoint("b", json!({})).await);
    stage.post(&one, json!(1)).await.unwrap();
    stage.post(&one, json!(2)).await.unwrap();

    let (third, fourth) = (stage.post(&one, json!(3)).await, stage.post(&other, json!(4)).await);
    let fifth = stage.post(&other, json!(5)).await;

    assert!(matches!(third, Err(Refusal::TooManyRequests { retry_after_seconds: 1 })));
    fourth.unwrap();
    assert!(matches!(fifth, Err(Refusal::TooManyRequests { retry_after_seconds: 1 })));
}

#[tokio::test]
async fn more_requests_than_there_is_room_for_are_told_to_come_back() {
    let world = World::new(|config| config.shares.request_bytes = Share::new(60_000, 40_000));
    let stage = Stage::with(world, Config::default()).await;
    let source = stage.endpoint("a", json!({})).await;
    let key = source.endpoint_key.as_str();
    let mut first = stage.handle.admit(key).await.unwrap();
    let second = stage.handle.admit(key).await.unwrap();

    let third = stage.handle.admit(key).await;
    let grown = first.memory().grow(10_000);
    drop(second);

    let full = Full { what: "request_bytes", scope: Scope::Tenant };
    assert!(matches!(third, Err(Refusal::Full(refused)) if refused == full));
    assert_eq!(grown, Err(full));
    stage.post(&source, json!({})).await.unwrap();
}

#[tokio::test]
async fn a_request_holds_its_place_until_it_is_answered_and_its_memory_until_its_run_ends() {
    let world = World::new(|config| {
        config.shares.requests_in_flight = Share::new(2, 1);
        config.shares.request_bytes = Share::new(60_000, 40_000);
    });
    let stage = Stage::with(world, Config::default()).await;
    let source = stage.endpoint("slow", json!({})).await;
    let hold = Hold::default();
    let inside = hold.clone();
    stage.world.sandbox.script_async("slow", move |_, _| {
        let inside = inside.clone();
        async move {
            inside.pass().await;
            returned(&json!(null))
        }
    });

    for n in 1..=2 {
        let asking = stage.post_aside(&source, json!(n));
        hold.started.notified().await;
        stage.world.clock.advance(5);
        assert_eq!(asking.await.unwrap().unwrap(), Answer::Accepted, "what is answered holds no place");
    }

    let third = stage.post(&source, json!(3)).await;
    assert!(matches!(third, Err(Refusal::Full(Full { what: "request_bytes", .. }))), "{third:?}");
    hold.released.notify_waiters();
}

#[tokio::test]
async fn the_quota_stops_the_next_one_says_so_once_and_ends_with_the_day() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let quotas = Quotas { daily_compute_ms: 1_000_000, daily_invocations: 2 };
    let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
    update_user(&stage.caller, &stage.world.platform, stage.caller.user.id.as_str(), change).await.unwrap();
    stage.post(&source, json!(1)).await.unwrap();
    stage.post(&source, json!(2)).await.unwrap();

    let refused = [stage.post(&source, json!(3)).await, stage.post(&source, json!(4)).await];
    let reports = stage.stream(&source, "$errors").await;
    // From noon to midnight.
    stage.world.clock.advance(12 * 3600 * 1000);
    let next_day = stage.post(&source, json!(5)).await;

    for refused in refused {
        assert!(matches!(refused, Err(Refusal::OverQuota { retry_after_seconds: 43_200, .. })));
    }
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0]["error"]["code"], "quota_exceeded");
    next_day.unwrap();
}
