//! Who is polled when many are ready.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::Turns;
use crate::Share;

/// Polls of each tenant's tasks in the order in which they happened: many of "busy", then one of "calm".
async fn polls(turns: Option<Turns>, busy: usize, yields: usize) -> Vec<&'static str> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tenants = std::iter::repeat_n("busy", busy).chain(["calm"]);
    let tasks = tenants.map(|tenant| {
        let seen = seen.clone();
        let work = Box::pin(async move {
            for _ in 0..yields {
                seen.lock().unwrap().push(tenant);
                give_way().await;
            }
        });
        match &turns {
            Some(turns) => tokio::spawn(turns.share(tenant, work)),
            None => tokio::spawn(work),
        }
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    seen.lock().unwrap().clone()
}

/// Is ready again at once, as a guest that used its fuel; the runtime's own `yield_now` wakes when all others had a poll.
async fn give_way() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn polls_before_calm_has_ended(seen: &[&str]) -> usize {
    seen.iter().rposition(|tenant| *tenant == "calm").unwrap()
}

#[tokio::test]
async fn a_tenant_with_many_ready_tasks_is_few_polls_ahead() {
    let alone = polls_before_calm_has_ended(&polls(None, 64, 10).await);
    let in_turns = polls_before_calm_has_ended(&polls(Some(Turns::new(Share::new(4, 3))), 64, 10).await);

    assert!(alone >= 10 * 64, "without turns every poll waits for all others: {alone}");
    // Spawned last, its first poll waits for the first ones of all others.
    assert!(in_turns <= 64 + 10 * 4, "with turns only for the few that have one: {in_turns}");
}

#[tokio::test]
async fn all_work_is_done_also_by_one_tenant_with_one_turn() {
    let seen = polls(Some(Turns::new(Share::new(1, 1))), 8, 3).await;

    assert_eq!(seen.len(), 9 * 3);
}

#[tokio::test]
async fn a_future_that_is_dropped_while_it_waits_takes_no_turn() {
    let turns = Turns::new(Share::new(1, 1));
    let holder = turns.share("a", Box::pin(async {}));
    let mut waiting = turns.share("b", Box::pin(async {}));
    assert!(is_pending(&mut waiting).await);

    drop(waiting);
    holder.await;

    turns.share("c", Box::pin(async {})).await;
}

/// Polls once; whether it is pending.
async fn is_pending(future: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending())).await
}

#[tokio::test]
async fn wakes_from_outside_wait_for_a_turn_too() {
    let (turns, go) = (Turns::new(Share::new(2, 1)), tokio::sync::watch::Sender::new(()));
    let (seen, parked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let tasks = std::iter::repeat_n("busy", 64).chain(["calm"]).map(|tenant| {
        let (seen, parked, mut go) = (seen.clone(), parked.clone(), go.subscribe());
        tokio::spawn(turns.share(
            tenant,
            Box::pin(async move {
                parked.fetch_add(1, Ordering::Relaxed);
                go.changed().await.unwrap();
                seen.lock().unwrap().push(tenant);
            }),
        ))
    });
    let tasks: Vec<_> = tasks.collect();
    while parked.load(Ordering::Relaxed) < 65 {
        tokio::task::yield_now().await;
    }

    go.send_replace(());
    for task in tasks {
        task.await.unwrap();
    }

    let calm = polls_before_calm_has_ended(&seen.lock().unwrap());
    assert!(calm <= 2, "all were woken at once, and its turn came after {calm} others");
}

#[tokio::test]
async fn what_had_to_wait_lets_go_first_what_is_ready_when_its_turn_comes() {
    let (turns, seen) = (Turns::new(Share::new(1, 1)), Arc::new(Mutex::new(Vec::new())));
    let see = |name: &'static str| {
        let seen = seen.clone();
        Box::pin(async move { seen.lock().unwrap().push(name) })
    };
    let holder = turns.share("busy", Box::pin(async {}));
    let waiting = tokio::spawn(turns.share("busy", see("waited")));
    tokio::task::yield_now().await;

    holder.await;
    let other = tokio::spawn(see("was ready"));
    waiting.await.unwrap();
    other.await.unwrap();

    assert_eq!(*seen.lock().unwrap(), ["was ready", "waited"]);
}

#[tokio::test]
async fn turns_are_of_the_tenant_that_was_named_last() {
    let turns = Turns::new(Share::new(2, 1));
    let _busy = turns.share("busy", Box::pin(async {}));
    let turn = turns.of("busy");
    let owner = turn.owner();
    let mut waiting = turn.polling(Box::pin(async {}));
    let turn = turns.of("busy");
    turn.owner().set("calm");
    let mut renamed = turn.polling(Box::pin(async {}));

    assert!(is_pending(&mut waiting).await && owner.tenant().as_ref() == "busy");
    assert!(!is_pending(&mut renamed).await);
}

#[tokio::test]
async fn a_waker_that_is_left_of_a_future_takes_no_turn() {
    let turns = Turns::new(Share::new(1, 1));
    let left = Arc::new(Mutex::new(None));
    let mut future = turns.of("a").polling(Box::pin({
        let left = left.clone();
        poll_fn(move |context| {
            *left.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        })
    }));
    assert!(is_pending(&mut future).await);
    left.lock().unwrap().as_ref().unwrap().wake_by_ref();

    drop(future);
    left.lock().unwrap().as_ref().unwrap().wake_by_ref();

    assert!(!is_pending(&mut turns.of("b").polling(Box::pin(async {}))).await);
}

#[test]
fn turns_go_round_the_tenants() {
    let turns = Turns::new(Share::new(1, 1));
    // Ready, and not polled yet: it has the only turn.
    let taken = turns.share("other", std::future::pending::<()>());
    let order = RefCell::new(Vec::new());
    let mut context = Context::from_waker(Waker::noop());
    let run = |tenant: &'static str| {
        let order = &order;
        turns.of(tenant).polling(Box::pin(async move { order.borrow_mut().push(tenant) }))
    };
    let mut runs = [run("busy"), run("busy"), run("busy"), run("quiet")];
    for run in &mut runs {
        assert!(Pin::new(run).poll(&mut context).is_pending(), "there is no turn for it yet");
    }

    drop(taken);
    // Each grants the next when it has had its turn, whatever order they are polled in.
    let mut left: Vec<_> = runs.iter_mut().collect();
    while !left.is_empty() {
        left.retain_mut(|run| Pin::new(run).poll(&mut context).is_pending());
    }

    assert_eq!(*order.borrow(), ["busy", "quiet", "busy", "busy"]);
}

/// Whether a future of one tenant is polled within the turn of another, or of the same, when there is no second turn.
fn is_polled_within(outer: &str, inner: &str) -> bool {
    let turns = Turns::new(Share::new(1, 1));
    let mut within = turns.of(inner).polling(Box::pin(async {}));
    let outer = turns.share(outer, poll_fn(|context| Poll::Ready(Pin::new(&mut within).poll(context).is_ready())));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(is_polled) = pin!(outer).poll(&mut context) else { panic!("it has the turn") };
    is_polled
}

#[test]
fn what_is_polled_within_a_turn_of_its_tenant_needs_no_other() {
    assert!(is_polled_within("a", "a"));
    assert!(!is_polled_within("a", "b"), "the turn is not its own");
}

#[test]
fn a_turn_that_was_asked_for_is_given_up_when_another_is_had() {
    let turns = Turns::new(Share::new(1, 1));
    let holder = turns.share("b", std::future::pending::<()>());
    let mut within = turns.of("a").polling(Box::pin(give_way()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut within).poll(&mut context).is_pending(), "it waits for the only turn");
    drop(holder);

    // It was granted meanwhile, and must be free again for what comes next.
    let other = Turns::new(Share::new(1, 1));
    let outer = other.share("a", poll_fn(|context| Poll::Ready(Pin::new(&mut within).poll(context).is_pending())));
    assert_eq!(pin!(outer).poll(&mut context), Poll::Ready(true), "it was polled, and gave way");

    assert!(pin!(turns.share("c", Box::pin(async {}))).poll(&mut context).is_ready());
}
