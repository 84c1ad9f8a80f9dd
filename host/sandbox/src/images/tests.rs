//! What is held, what goes, and what is made how often.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{Images, Key, Settled};
use crate::slots::Slots;
use crate::snapshot::Snapshot;
use ::engine::PAGE_BYTES;

/// The memory of one image here.
const BYTES: u64 = PAGE_BYTES as u64;

fn snapshot(byte: u8) -> Arc<Snapshot> {
    Snapshot::unnamed(&[byte; PAGE_BYTES]).unwrap()
}

fn key(number: u8) -> Key {
    [number; 32]
}

fn held(images: &Images<()>) -> Vec<u8> {
    (0..=9).filter(|number| images.held().by_key.contains(&key(*number))).collect()
}

#[test]
fn images_beyond_the_bound_go_the_least_recently_used_first() {
    let (images, slots) = (Images::<()>::new(3 * BYTES), Slots::new(4));
    for number in 1..=3 {
        assert!(images.hold(key(number), &snapshot(number), &slots).keys.is_empty());
    }
    assert!(images.get(&key(1)).is_some());

    let gone = images.hold(key(4), &snapshot(4), &slots);

    assert_eq!(gone.keys, [key(2)]);
    assert_eq!(held(&images), [1, 3, 4]);
    assert_eq!(images.held().bytes, 3 * BYTES);
    assert_eq!(images.shrink(BYTES, &slots).keys, [key(3), key(1)]);
    assert!(images.remove(&key(4), &slots));
    assert_eq!(images.held().bytes, 0);
}

#[test]
fn an_image_that_runs_stays_and_one_whose_slots_are_idle_goes() {
    let (images, slots) = (Images::<()>::new(BYTES), Slots::new(4));
    let running = snapshot(1);
    drop(images.hold(key(1), &running, &slots));
    {
        let idle = snapshot(2);
        drop(images.hold(key(2), &idle, &slots));
        slots.warm(&idle);
    }

    assert_eq!(images.hold(key(3), &snapshot(3), &slots).keys, [key(2)]);

    assert_eq!(held(&images), [1, 3], "one of them runs, the other is about to");
    drop(running);
    assert_eq!(images.hold(key(4), &snapshot(4), &slots).keys, [key(1), key(3)]);
}

#[test]
fn an_image_that_is_made_again_is_counted_once() {
    let (images, slots) = (Images::<()>::new(9 * BYTES), Slots::new(4));
    for byte in 1..=3 {
        drop(images.hold(key(1), &snapshot(byte), &slots));
    }

    assert_eq!(images.held().bytes, BYTES);
    assert_eq!(images.peek(&key(1)).unwrap().bytes()[0], 3);
}

#[tokio::test]
async fn twenty_first_calls_make_one_image() {
    let (images, slots, made) = (Images::<()>::new(9 * BYTES), Slots::new(4), AtomicUsize::new(0));
    let call = async || {
        let flight = images.board(key(1));
        let settled = flight.settle(async {
            made.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            let image = snapshot(1);
            drop(images.hold(key(1), &image, &slots));
            Ok::<_, Infallible>(Ok(image))
        });
        settled.await.unwrap().unwrap().id()
    };

    let ids = join_all((0..20).map(|_| call())).await;

    assert_eq!(made.load(Ordering::Relaxed), 1);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(images.flights().is_empty(), "nothing is left of it");
}

#[tokio::test]
async fn why_there_is_no_image_is_told_to_all_and_a_failure_of_the_host_to_one() {
    let (images, made) = (Images::<&str>::new(9 * BYTES), AtomicUsize::new(0));
    let call = async |outcome: Result<Settled<&'static str>, &'static str>| {
        let flight = images.board(key(1));
        let settled = flight.settle(async {
            made.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            outcome
        });
        settled.await.map(|settled| settled.map(drop))
    };

    let refused = join_all((0..3).map(|_| call(Ok(Err("it throws"))))).await;
    assert_eq!(refused, [Ok(Err("it throws")); 3]);
    assert_eq!(made.swap(0, Ordering::Relaxed), 1);

    let failed = join_all((0..3).map(|_| call(Err("no room")))).await;
    assert_eq!(failed, [Err("no room"); 3]);
    assert_eq!(made.load(Ordering::Relaxed), 3);
    assert!(images.flights().is_empty());
}

#[tokio::test]
async fn a_call_that_is_cancelled_leaves_the_image_to_the_next_and_delays_no_other() {
    let images = Images::<()>::new(9 * BYTES);
    let (first, second, other) = (images.board(key(1)), images.board(key(1)), images.board(key(2)));
    let (never, waits) = oneshot::channel::<()>();
    let mut making = Box::pin(first.settle(async {
        let _ = waits.await;
        Ok::<_, Infallible>(Err(()))
    }));
    assert!(futures_util::poll!(&mut making).is_pending());
    assert!(other.settle(async { Ok::<_, Infallible>(Ok(snapshot(2))) }).await.unwrap().is_ok());

    drop(making);

    assert!(second.settle(async { Ok::<_, Infallible>(Ok(snapshot(1))) }).await.unwrap().is_ok());
    drop(never);
}
