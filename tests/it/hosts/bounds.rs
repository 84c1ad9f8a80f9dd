//! `--takeover-seconds` and `--store-timeout-ms` at their bounds.

use std::process::Command;
use std::time::{Duration, Instant};

use rig::receiver::{Answer, Receiver};
use rig::served::binary;
use serde_json::json;

use super::{host, redis};
use crate::flow::EMIT_BODY;

/// For a machine that does everything else as well.
const SLACK: Duration = Duration::from_secs(2);

/// The exit code of a start with this option, and what it says.
fn refused(option: &str, value: &str) -> (Option<i32>, String) {
    let output = Command::new(binary()).args(["serve", option, value]).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn less_than_the_least_is_refused_with_the_least() {
    for (option, value, least) in [("--takeover-seconds", "2", "3"), ("--store-timeout-ms", "99", "100")] {
        let (code, said) = refused(option, value);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("must be at least {least}")), "{said}");
    }
    for (option, value, most) in [("--takeover-seconds", "3601", "3600"), ("--store-timeout-ms", "60001", "60000")] {
        let (code, said) = refused(option, value);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("must be at most {most}")), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_taken_over_within_the_least_that_can_be_set() {
    let redis = redis().await;
    let options = ["--takeover-seconds", "3"];
    let (first, _second) = (host(&redis, &options).await, host(&redis, &options).await);
    let (receiver, mut inbox) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let run = format!(
        "async run() {{ await fetch('{}'); await new Promise((resolve) => setTimeout(resolve, 29000)); }}",
        receiver.url("/begun")
    );
    let source = first.endpoint(&run).await;
    first.trigger(&source, &json!(1)).await;
    inbox.next().await;

    first.served.kill().await;
    let died = Instant::now();
    inbox.next().await;

    println!("taken over after {:?}", died.elapsed());
    assert!(died.elapsed() < Duration::from_secs(3) + SLACK, "{:?}", died.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_is_told_within_the_least_that_can_be_set() {
    let redis = redis().await;
    let world = host(&redis, &["--store-timeout-ms", "100"]).await;
    let source = world.endpoint(EMIT_BODY).await;
    world.trigger(&source, &json!(1)).await;

    redis.signal("STOP");
    let begun = Instant::now();
    let refused = world.client.trigger(&source.endpoint, &json!(2)).await.unwrap();
    let took = begun.elapsed();
    redis.signal("CONT");

    println!("told after {took:?}");
    assert_eq!(refused.status, 503, "{}", refused.text());
    // With the default it would take 1.8 s.
    assert!(took < Duration::from_millis(1500), "{took:?}");
}
