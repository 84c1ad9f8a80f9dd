//! Tests of schedule.

use serde_json::{Value, json};

use super::Stage;
use crate::manage::sources::{UpdateSource, update};

const HOUR_MS: u64 = 3600 * 1000;

fn timer(default: Value) -> Value {
    json!({"props": {"timer": {"type": "$.interface.timer", "default": default}}})
}

async fn ticks(stage: &Stage, source: &crate::records::Source) -> usize {
    stage.stream(source, "default").await.len()
}

#[tokio::test]
async fn the_first_tick_comes_one_interval_after_activation() {
    let stage = Stage::new().await;
    let source = stage.deploy("tick", timer(json!({"intervalSeconds": 60}))).await;

    stage.world.clock.advance(59_999);
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(1);
    stage.work().await;

    let at = stage.now_ms() / 1000;
    assert_eq!(stage.stream(&source, "default").await, [json!({"timestamp": at, "interval_seconds": 60})]);
}

#[tokio::test]
async fn ticks_missed_while_down_run_once_and_the_grid_is_kept() {
    let mut stage = Stage::new().await;
    let source = stage.deploy("tick", timer(json!({"intervalSeconds": 60}))).await;

    stage.world.clock.advance(630_000);
    stage.restart();
    stage.work().await;
    assert_eq!(ticks(&stage, &source).await, 1);
    stage.world.clock.advance(29_999);
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(1);
    stage.work().await;

    assert_eq!(ticks(&stage, &source).await, 2);
}

#[tokio::test]
async fn a_tick_that_is_being_worked_on_is_not_given_to_another_host() {
    let stage = Stage::new().await;
    stage.deploy("tick", timer(json!({"intervalSeconds": 1}))).await;
    stage.world.clock.advance(5000);

    let (first, second) = (stage.lease_timers().await, stage.lease_timers().await);

    assert_eq!((first.len(), second.len()), (1, 0));
}

#[tokio::test]
async fn a_host_that_lost_its_lease_does_not_fire_the_tick_a_second_time() {
    let stage = Stage::new().await;
    let source = stage.deploy("tick", timer(json!({"intervalSeconds": 60}))).await;
    stage.world.clock.advance(60_000);
    let dead = stage.lease_timers().await;
    stage.world.clock.advance(30_000);

    stage.work().await;
    stage.perform_tick(&dead[0]).await;

    assert_eq!(ticks(&stage, &source).await, 1);
}

#[tokio::test]
async fn a_source_that_is_switched_off_does_not_tick() {
    let stage = Stage::new().await;
    let source = stage.deploy("tick", timer(json!({"intervalSeconds": 60}))).await;
    let change = UpdateSource { active: Some(false), ..UpdateSource::default() };
    update(&stage.caller, &stage.world.platform, source.id.as_str(), change).await.unwrap();

    stage.world.clock.advance(600_000);
    stage.work().await;

    assert_eq!(ticks(&stage, &source).await, 0);
}

#[tokio::test]
async fn a_source_without_run_emits_the_tick_itself() {
    let stage = Stage::new().await;
    let mut description = timer(json!({"cron": "0 * * * *"}));
    description["run"] = Value::Null;
    let source = stage.deploy("tick", description).await;

    stage.world.clock.advance(HOUR_MS);
    stage.work().await;

    assert_eq!(ticks(&stage, &source).await, 1);
    assert!(stage.world.sandbox.called().is_empty());
}

/// A year in half hours: those of the UTC day at which a schedule fired.
async fn fired(zone: &str, cron: &str) -> Vec<u64> {
    let stage = Stage::new().await;
    stage.deploy("tick", timer(json!({"cron": cron, "timezone": zone}))).await;
    let mut half_hours = Vec::new();
    for _ in 0..(365 * 48) {
        stage.world.clock.advance(HOUR_MS / 2);
        stage.work().await;
        half_hours.resize(stage.world.sandbox.called().len(), stage.now_ms() / (HOUR_MS / 2) % 48);
    }
    half_hours
}

#[tokio::test]
async fn a_daily_tick_comes_once_on_every_day_of_the_year_in_four_zones() {
    // At these times the clocks of each zone jump: they fall into a gap in spring and come twice in autumn.
    for (zone, cron) in [
        ("America/New_York", "30 2 * * *"),
        ("Europe/Berlin", "30 2 * * *"),
        ("Australia/Lord_Howe", "0 2 * * *"),
        ("America/Santiago", "30 0 * * *"),
    ] {
        let half_hours = fired(zone, cron).await;

        assert_eq!(half_hours.len(), 365, "{zone}");
        let (least, most) = (half_hours.iter().min().unwrap(), half_hours.iter().max().unwrap());
        assert!(most > least, "{zone} changes its clocks, so UTC times differ");
    }
}
