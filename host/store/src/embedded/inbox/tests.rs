//! Which requests share a group, and when it is flushed.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::{JoinHandle, spawn_blocking};

use super::groups::ALONE_AFTER;
use super::{Bounds, Inbox, Receiver, Weighed, WriterState, new};
use crate::Error;

const ENDLESS: Duration = Duration::from_secs(3600);
pub(super) const WIDE: Bounds = Bounds {
    capacity: 8,
    flush_at: 8,
    max_group: 8,
    max_wait: ENDLESS,
    max_shared_wait: ENDLESS,
    max_tenant_weight: 100,
    max_lone_weight: 1000,
    light_weight: 100,
};

/// Of no tenant.
impl Weighed for u32 {
    fn tenant(&self) -> Option<&str> {
        None
    }

    fn weight(&self) -> usize {
        1
    }
}

impl Weighed for tokio::sync::oneshot::Sender<()> {
    fn tenant(&self) -> Option<&str> {
        None
    }

    fn weight(&self) -> usize {
        1
    }
}

/// Of a tenant, or of none without a name, with its weight.
impl Weighed for (&'static str, usize) {
    fn tenant(&self) -> Option<&str> {
        Some(self.0).filter(|tenant| !tenant.is_empty())
    }

    fn weight(&self) -> usize {
        self.1
    }
}

/// Expects that the queue is not full.
fn put(inbox: &Inbox<u32>, requests: impl IntoIterator<Item = u32>) {
    for request in requests {
        inbox.put(request).now_or_never().unwrap().unwrap();
    }
}

/// On a thread of its own, so that the runtime is free to gather.
fn take(mut receiver: Receiver<u32>) -> JoinHandle<(Receiver<u32>, Vec<u32>)> {
    spawn_blocking(move || {
        let mut group = VecDeque::new();
        receiver.take(&mut group);
        (receiver, group.into())
    })
}

/// The writer sets the state and sleeps under one lock.
fn wait_until_idle(inbox: &Inbox<u32>) {
    while inbox.0.queue().writer != WriterState::Idle {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_lone_request_is_flushed_alone() {
    let (inbox, receiver) = new(WIDE);
    let taking = take(receiver);
    wait_until_idle(&inbox);

    put(&inbox, [1]);

    assert_eq!(taking.await.unwrap().1, [1]);
}

/// As when everything that the scheduler has computes, here for as long as the test waits.
#[tokio::test]
async fn a_request_that_waits_is_flushed_in_time_whatever_the_scheduler_does() {
    let (inbox, mut receiver) = new(Bounds { max_shared_wait: Duration::from_millis(1), ..WIDE });
    put(&inbox, [1]);

    let taking = std::thread::spawn(move || {
        let mut group = VecDeque::new();
        receiver.take(&mut group);
        (receiver, group)
    });
    let (mut receiver, group) = taking.join().unwrap();
    assert_eq!(group, [1]);

    // The task that was to flush it comes too late, and does not wake the writer.
    let taking = std::thread::spawn(move || {
        let mut group = VecDeque::new();
        receiver.take(&mut group);
        group
    });
    wait_until_idle(&inbox);
    tokio::task::yield_now().await;
    assert!(inbox.0.queue().writer == WriterState::Idle);
    drop(inbox);
    assert_eq!(taking.join().unwrap(), []);
}

#[tokio::test]
async fn requests_that_are_ready_share_a_group() {
    let (inbox, receiver) = new(WIDE);
    let inbox = Arc::new(inbox);
    let taking = take(receiver);
    wait_until_idle(&inbox);

    for request in [1, 2, 3] {
        let inbox = Arc::clone(&inbox);
        tokio::spawn(async move { put(&inbox, [request]) });
    }

    assert_eq!(taking.await.unwrap().1, [1, 2, 3]);
}

#[tokio::test]
async fn requests_that_arrived_while_the_writer_was_busy_are_the_next_group() {
    let (inbox, receiver) = new(WIDE);
    put(&inbox, [1, 2]);

    let (receiver, group) = take(receiver).await.unwrap();
    put(&inbox, [3]);

    assert_eq!(group, [1, 2]);
    assert_eq!(take(receiver).await.unwrap().1, [3]);
}

#[tokio::test]
async fn a_group_is_held_open_until_flush_at_or_max_wait() {
    let cases = [
        (WIDE, 8),
        (Bounds { flush_at: 4, ..WIDE }, 4),
        // The gathering task first looks when the second request is queued, and stops there.
        (Bounds { max_shared_wait: Duration::ZERO, ..WIDE }, 2),
    ];
    for (bounds, expected) in cases {
        let (inbox, receiver) = new(bounds);
        let taking = take(receiver);
        wait_until_idle(&inbox);

        put(&inbox, [1]);
        while inbox.0.queue().writer == WriterState::Gathering {
            put(&inbox, [2]);
            tokio::task::yield_now().await;
        }

        assert_eq!(taking.await.unwrap().1.len(), expected);
    }
}

/// Nothing else would end the group: this test keeps the scheduler to itself, and a lone tenant's group waits for an hour.
#[tokio::test]
async fn a_group_of_one_tenant_ends_at_once_when_another_comes() {
    let (inbox, mut receiver) = new(Bounds { max_shared_wait: Duration::ZERO, ..WIDE });
    let taking = std::thread::spawn(move || {
        let mut groups = Vec::new();
        for _ in 0..ALONE_AFTER + 3 {
            let mut group = VecDeque::new();
            receiver.take(&mut group);
            groups.push(Vec::from(group));
        }
        groups
    });
    let idle = || {
        while inbox.0.queue().writer != WriterState::Idle {
            std::thread::yield_now();
        }
    };
    for _ in 0..=ALONE_AFTER {
        idle();
        inbox.put(("a", 1)).now_or_never().unwrap().unwrap();
        tokio::task::yield_now().await;
    }
    idle();
    assert!(inbox.0.queue().is_alone());

    for request in [("a", 1), ("", 1), ("b", 1)] {
        assert!(matches!(inbox.0.queue().writer, WriterState::Idle | WriterState::Gathering));
        inbox.put(request).now_or_never().unwrap().unwrap();
    }
    idle();
    inbox.put(("b", 1)).now_or_never().unwrap().unwrap();
    tokio::task::yield_now().await;

    let groups = taking.join().unwrap();
    assert_eq!(groups.last_chunk().unwrap(), &[vec![("a", 1), ("", 1), ("b", 1)], vec![("b", 1)]]);
}

#[tokio::test]
async fn a_group_ends_at_its_bound_and_the_rest_is_the_next() {
    let (inbox, receiver) = new(Bounds { max_group: 3, ..WIDE });
    put(&inbox, 1..=4);

    let (receiver, group) = take(receiver).await.unwrap();

    assert_eq!(group, [1, 2, 3]);
    assert_eq!(take(receiver).await.unwrap().1, [4]);
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_until_a_group_is_taken() {
    let (inbox, receiver) = new(Bounds { capacity: 2, ..WIDE });
    put(&inbox, [1, 2]);
    let mut third = pin!(inbox.put(3));
    assert!(third.as_mut().now_or_never().is_none());

    let (receiver, group) = take(receiver).await.unwrap();
    third.now_or_never().unwrap().unwrap();

    assert_eq!(group, [1, 2]);
    assert_eq!(take(receiver).await.unwrap().1, [3]);
}

#[tokio::test]
async fn what_waits_when_it_is_closed_is_still_taken_and_then_nothing() {
    let (inbox, receiver) = new(WIDE);
    put(&inbox, [1]);
    drop(inbox);

    let (receiver, group) = take(receiver).await.unwrap();

    assert_eq!(group, [1]);
    assert!(take(receiver).await.unwrap().1.is_empty());
}

#[test]
fn when_the_callers_runtime_has_shut_down_the_group_is_flushed_at_once() {
    let (inbox, mut receiver) = new(WIDE);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { put(&inbox, [1]) });
    drop(runtime);

    let mut group = VecDeque::new();
    receiver.take(&mut group);

    assert_eq!(group, [1]);
}

#[tokio::test]
async fn dropping_the_writers_end_fails_the_queued_requests() {
    let (inbox, receiver) = new(Bounds { capacity: 1, ..WIDE });
    let (reply, answer) = tokio::sync::oneshot::channel::<()>();
    inbox.put(reply).await.unwrap();
    let (late_reply, _late_answer) = tokio::sync::oneshot::channel();
    let mut late = pin!(inbox.put(late_reply));
    assert!(late.as_mut().now_or_never().is_none());

    drop(receiver);

    assert!(answer.await.is_err());
    assert!(matches!(late.now_or_never(), Some(Err(Error::Closed))));
}
