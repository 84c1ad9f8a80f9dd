//! What a run may do before others have their turn.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::{FIRST_TURN, Metered, STOOD_STILL, run_metered};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls once, and returns whether it ended and how often it asked to be polled again.
fn poll_once(future: impl Future<Output = ()>, mut spent: Duration) -> (bool, usize) {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let metered = pin!(Metered { future: pin!(future), spent: &mut spent });
    let is_ready = metered.poll(&mut Context::from_waker(&waker)).is_ready();
    (is_ready, woken.0.load(Ordering::Relaxed))
}

/// Gives way so many times before it ends.
fn giving_way(mut times: usize) -> impl Future<Output = ()> {
    poll_fn(move |context| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn a_young_run_goes_on_when_it_gives_way() {
    assert_eq!(poll_once(giving_way(5), Duration::ZERO), (true, 0));
}

#[test]
fn a_run_whose_first_turn_is_over_gives_way() {
    assert_eq!(poll_once(giving_way(1), FIRST_TURN), (false, 1));
}

#[test]
fn a_first_turn_ends() {
    let endless = poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    let started = Instant::now();

    assert_eq!(poll_once(endless, Duration::ZERO), (false, 1));

    assert!(started.elapsed() >= FIRST_TURN);
}

#[test]
fn a_young_run_that_waits_is_polled_once_and_called_later() {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let (mut polls, mut held) = (0, None);
    let waiting = pin!(poll_fn(|context| {
        polls += 1;
        held = Some(context.waker().clone());
        Poll::<()>::Pending
    }));
    let mut spent = Duration::ZERO;
    let metered = pin!(Metered { future: waiting, spent: &mut spent });
    assert!(metered.poll(&mut Context::from_waker(&waker)).is_pending());

    held.expect("it was polled").wake();

    assert_eq!((polls, woken.0.load(Ordering::Relaxed)), (1, 1));
}

const LIMIT: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_end_is_stopped_at_its_deadline() {
    let started = tokio::time::Instant::now();

    let (done, _) = run_metered(std::future::pending::<()>(), LIMIT).await;

    assert!(done.is_none() && started.elapsed() < LIMIT + STOOD_STILL, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_run_does_not_pay_for_a_host_that_stood_still() {
    let started = tokio::time::Instant::now();
    let run = tokio::spawn(run_metered(tokio::time::sleep(Duration::from_secs(60)), LIMIT));
    tokio::task::yield_now().await;

    tokio::time::advance(Duration::from_secs(7)).await;
    let (done, _) = run.await.unwrap();

    let granted = started.elapsed() - Duration::from_secs(7);
    assert!(done.is_none() && granted >= LIMIT && granted < LIMIT + STOOD_STILL, "{granted:?}");
}
