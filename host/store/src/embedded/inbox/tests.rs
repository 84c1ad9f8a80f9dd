//! Who is in a group, and who waits for what.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Bounds, Inbox, Taker, Weighed, Where, new, take_shares};
use crate::Error;

const ENDLESS: Duration = Duration::from_secs(3600);
const WIDE: Bounds = Bounds { room: 8, enough: 8, most: 8, patience: ENDLESS, of_a_tenant: 100 };

/// Of no tenant.
impl Weighed for u32 {
    fn tenant(&self) -> Option<&str> {
        None
    }

    fn weight(&self) -> usize {
        1
    }
}

/// Of a tenant, with its weight.
impl Weighed for (&'static str, usize) {
    fn tenant(&self) -> Option<&str> {
        Some(self.0)
    }

    fn weight(&self) -> usize {
        self.1
    }
}

/// Without waiting for room.
fn put(inbox: &Inbox<u32>, requests: impl IntoIterator<Item = u32>) {
    for request in requests {
        inbox.put(request).now_or_never().unwrap().unwrap();
    }
}

/// On a thread of its own, so that the runtime is free to gather.
fn take(mut taker: Taker<u32>) -> JoinHandle<(Taker<u32>, Vec<u32>)> {
    spawn_blocking(move || {
        let mut group = VecDeque::new();
        taker.take(&mut group);
        (taker, group.into())
    })
}

/// It says that it is idle and sleeps in one go.
fn wait_until_idle(inbox: &Inbox<u32>) {
    while inbox.0.line().taker != Where::Idle {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn whoever_comes_alone_is_taken_alone() {
    let (inbox, taker) = new(WIDE);
    let taking = take(taker);
    wait_until_idle(&inbox);

    put(&inbox, [1]);

    assert_eq!(taking.await.unwrap().1, [1]);
}

#[tokio::test]
async fn everybody_who_is_ready_is_in_the_group() {
    let (inbox, taker) = new(WIDE);
    let inbox = Arc::new(inbox);
    let taking = take(taker);
    wait_until_idle(&inbox);

    for request in [1, 2, 3] {
        let inbox = Arc::clone(&inbox);
        tokio::spawn(async move { put(&inbox, [request]) });
    }

    assert_eq!(taking.await.unwrap().1, [1, 2, 3]);
}

#[tokio::test]
async fn those_who_came_while_the_taker_was_away_are_there_already() {
    let (inbox, taker) = new(WIDE);
    put(&inbox, [1, 2]);

    let (taker, group) = take(taker).await.unwrap();
    put(&inbox, [3]);

    assert_eq!(group, [1, 2]);
    assert_eq!(take(taker).await.unwrap().1, [3]);
}

#[tokio::test]
async fn others_are_waited_for_until_there_are_enough_or_patience_ends() {
    let cases = [
        (WIDE, 8),
        (Bounds { enough: 4, ..WIDE }, 4),
        // It looks for the first time when the second is there, and does not look again.
        (Bounds { patience: Duration::ZERO, ..WIDE }, 2),
    ];
    for (bounds, expected) in cases {
        let (inbox, taker) = new(bounds);
        let taking = take(taker);
        wait_until_idle(&inbox);

        put(&inbox, [1]);
        while inbox.0.line().taker == Where::Waiting {
            put(&inbox, [2]);
            tokio::task::yield_now().await;
        }

        assert_eq!(taking.await.unwrap().1.len(), expected);
    }
}

#[tokio::test]
async fn a_group_ends_at_its_bound_and_the_rest_comes_next() {
    let (inbox, taker) = new(Bounds { most: 3, ..WIDE });
    put(&inbox, 1..=4);

    let (taker, group) = take(taker).await.unwrap();

    assert_eq!(group, [1, 2, 3]);
    assert_eq!(take(taker).await.unwrap().1, [4]);
}

#[tokio::test]
async fn beyond_the_room_callers_wait_until_others_were_taken() {
    let (inbox, taker) = new(Bounds { room: 2, ..WIDE });
    put(&inbox, [1, 2]);
    let mut third = pin!(inbox.put(3));
    assert!(third.as_mut().now_or_never().is_none());

    let (taker, group) = take(taker).await.unwrap();
    third.now_or_never().unwrap().unwrap();

    assert_eq!(group, [1, 2]);
    assert_eq!(take(taker).await.unwrap().1, [3]);
}

#[tokio::test]
async fn what_waits_when_it_is_closed_is_still_taken_and_then_nothing() {
    let (inbox, taker) = new(WIDE);
    put(&inbox, [1]);
    drop(inbox);

    let (taker, group) = take(taker).await.unwrap();

    assert_eq!(group, [1]);
    assert!(take(taker).await.unwrap().1.is_empty());
}

#[test]
fn when_the_runtime_of_those_who_came_has_ended_they_are_taken_at_once() {
    let (inbox, mut taker) = new(WIDE);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { put(&inbox, [1]) });
    drop(runtime);

    let mut group = VecDeque::new();
    taker.take(&mut group);

    assert_eq!(group, [1]);
}

#[tokio::test]
async fn when_nobody_takes_any_more_those_who_wait_are_let_go() {
    let (inbox, taker) = new(Bounds { room: 1, ..WIDE });
    let (reply, answer) = tokio::sync::oneshot::channel::<()>();
    inbox.put(reply).await.unwrap();
    let (late_reply, _late_answer) = tokio::sync::oneshot::channel();
    let mut late = pin!(inbox.put(late_reply));
    assert!(late.as_mut().now_or_never().is_none());

    drop(taker);

    assert!(answer.await.is_err());
    assert!(matches!(late.now_or_never(), Some(Err(Error::Closed))));
}

#[test]
fn a_tenant_has_its_share_of_a_group_and_waits_behind_itself() {
    let bounds = Bounds { of_a_tenant: 10, ..WIDE };
    let mut waiting = VecDeque::from([("a", 6), ("a", 4), ("a", 1), ("b", 50), ("c", 1), ("a", 0), ("b", 1), ("c", 9)]);

    let groups: Vec<_> = std::iter::from_fn(|| {
        let mut group = VecDeque::new();
        take_shares(&mut waiting, &bounds, &mut group);
        (!group.is_empty()).then(|| Vec::from(group))
    })
    .collect();

    assert_eq!(groups, [vec![("a", 6), ("a", 4), ("b", 50), ("c", 1), ("c", 9)], vec![("a", 1), ("a", 0), ("b", 1)]]);
}
