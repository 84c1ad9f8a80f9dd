//! Who is at the front of a key, and what waiting runs leave behind.

use std::sync::Arc;

use futures_util::FutureExt;
use store::Tenant;

use super::{Key, KeyQueues};

fn key(name: &str) -> Key {
    Key { tenant: Tenant::parse("u_a").unwrap(), scope: "db/dc_1".into(), key: name.into() }
}

#[tokio::test]
async fn runs_have_a_key_one_after_the_other_in_order_of_arrival() {
    let queues = Arc::new(KeyQueues::default());
    let first = queues.join(key("n")).await;
    let mut second = Box::pin(queues.join(key("n")));
    let mut third = Box::pin(queues.join(key("n")));
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());

    drop(first);

    assert!((&mut third).now_or_never().is_none());
    let second = second.await;
    assert!(queues.try_join(key("n")).is_none());
    drop(second);
    drop(third.await);
}

#[tokio::test]
async fn a_queue_is_forgotten_with_its_last_run() {
    let queues = Arc::new(KeyQueues::default());
    let first = queues.join(key("n")).await;
    let mut cancelled = Box::pin(queues.join(key("n")));
    assert!((&mut cancelled).now_or_never().is_none());
    assert!(queues.is_briefly_busy(&key("n")) && !queues.is_briefly_busy(&key("m")));

    drop(first);
    drop(cancelled);

    assert!(!queues.is_briefly_busy(&key("n")));
    assert!(queues.lock().is_empty());
}

#[tokio::test]
async fn a_key_that_is_taken_is_not_joined_without_waiting() {
    let queues = Arc::new(KeyQueues::default());

    let front = queues.try_join(key("n"));

    assert!(front.is_some() && queues.try_join(key("n")).is_none());
    drop(front);
    assert!(queues.lock().is_empty());
}

#[tokio::test]
async fn a_run_that_waits_for_the_outside_is_not_brief() {
    let queues = Arc::new(KeyQueues::default());
    let front = queues.join(key("n")).await;
    let mut next = Box::pin(queues.join(key("n")));
    assert!((&mut next).now_or_never().is_none());

    front.is_waiting_for_the_outside();

    assert!(!queues.is_briefly_busy(&key("n")));
    drop(front);
    assert!(queues.is_briefly_busy(&key("n")));
}
