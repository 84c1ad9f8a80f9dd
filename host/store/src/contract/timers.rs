//! Timers: ticks are leased, finished and never doubled.

use std::sync::Arc;

use super::{World, text};
use crate::{CommitError, Lease, LeaseRequest, Leased, Op, Precondition, Tick, TimerLease};

fn set(timer: &str, due_ms: u64, schedule: &str) -> Op {
    Op::SetTimer { timer: timer.into(), due_ms, schedule: text(schedule) }
}

fn finish(lease: &TimerLease, next_due_ms: Option<u64>) -> Op {
    Op::FinishTick { lease: lease.clone(), next_due_ms }
}

async fn due(world: &World, now_ms: u64) -> Leased<Tick> {
    let request = LeaseRequest { now_ms, lease_ms: 100, max: 9 };
    world.store.lease_timers(&world.partition(), request).await.unwrap()
}

fn names(leased: &Leased<Tick>) -> Vec<&str> {
    leased.items.iter().map(|tick| tick.lease.timer.as_str()).collect()
}

pub(crate) async fn a_timer_ticks_once_and_is_set_again(world: World) {
    world.commit(vec![set("b", 30, "every 20"), set("a", 20, "every 10")]).await;

    assert_eq!(due(&world, 19).await, Leased { items: vec![], next_due_ms: Some(20) });
    let first = due(&world, 25).await;
    assert_eq!((names(&first), first.next_due_ms), (vec!["a"], Some(30)));
    let tick = first.items.first().unwrap();
    assert_eq!((&tick.tenant, tick.due_ms, &tick.schedule), (&world.tenant, 20, &text("every 10")));

    world.commit(vec![finish(&tick.lease, Some(40))]).await;
    let again = world.try_commit(26, vec![], vec![finish(&tick.lease, Some(50))]).await;
    assert!(matches!(again, Err(CommitError::LeaseLost)), "{again:?}");
    let both = due(&world, 40).await;
    assert_eq!(names(&both), ["b", "a"]);
    assert_eq!(
        both.items.iter().map(|tick| tick.schedule.clone()).collect::<Vec<_>>(),
        [text("every 20"), text("every 10")]
    );

    world.commit(both.items.iter().map(|tick| finish(&tick.lease, None)).collect()).await;
    assert_eq!(due(&world, 9999).await, Leased { items: vec![], next_due_ms: None });
}

pub(crate) async fn a_timer_that_was_replaced_refuses_its_old_tick(world: World) {
    world.commit(vec![set("a", 10, "old")]).await;
    let old = due(&world, 10).await.items.pop().unwrap().lease;
    let held = Precondition::LeaseHeld(Lease::Timer(old.clone()));
    assert!(world.try_commit(1, vec![held.clone()], vec![]).await.is_ok());
    world.store.extend(&world.tenant, &old.clone().into(), 500).await.unwrap();
    assert_eq!(due(&world, 499).await.next_due_ms, Some(500));

    world.commit(vec![set("a", 20, "new")]).await;

    let finished = world.try_commit(1, vec![], vec![finish(&old, Some(99))]).await;
    assert!(matches!(finished, Err(CommitError::LeaseLost)), "{finished:?}");
    let required = world.try_commit(1, vec![held], vec![]).await;
    assert!(matches!(required, Err(CommitError::LeaseLost)), "{required:?}");
    assert_eq!(due(&world, 20).await.items.pop().unwrap().schedule, text("new"));
    world.commit(vec![Op::ClearTimer { timer: "a".into() }, Op::ClearTimer { timer: "never".into() }]).await;
    assert_eq!(due(&world, 9999).await, Leased { items: vec![], next_due_ms: None });
}

pub(crate) async fn two_hosts_never_work_on_the_same_tick(world: World) {
    world.commit((0..200).map(|n| set(&n.to_string(), n, "")).collect()).await;
    let world = Arc::new(world);
    let hosts = (0..8).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let leased = due(&world, 1000).await;
                if leased.items.is_empty() {
                    return seen;
                }
                seen.extend(leased.items.into_iter().map(|tick| tick.lease.timer));
            }
        })
    });

    let mut all = Vec::new();
    for host in hosts.collect::<Vec<_>>() {
        all.extend(host.await.unwrap());
    }

    assert_eq!(all.len(), 200);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 200);
}
