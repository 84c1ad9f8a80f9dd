//! Turns, lanes and leases, without any engine.

mod held;

use super::Queue;
use super::index::{Change, Index};
use crate::{JobId, JobLease, LanePosition, LeaseRequest, Leased, Shares, Tenant};

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn lease(queue: &mut Queue, now_ms: u64, max: u32) -> Vec<u64> {
    jobs(&ask(queue, now_ms, max))
}

fn ask(queue: &mut Queue, now_ms: u64, max: u32) -> Leased<(Tenant, JobLease)> {
    let mut token = now_ms;
    let request = LeaseRequest { now_ms, lease_ms: 10, max };
    queue.lease(request, &mut Shares::default(), || {
        token += 1;
        token
    })
}

fn jobs(leased: &Leased<(Tenant, JobLease)>) -> Vec<u64> {
    leased.items.iter().map(|(_, lease)| lease.job.0).collect()
}

#[test]
fn tenants_take_turns_however_long_a_backlog_is() {
    let mut queue = Queue::default();
    for job in 0..100_000 {
        queue.enqueue(&tenant("noisy"), JobId(job), None, (0, 1));
    }
    assert_eq!(lease(&mut queue, 5, 2), [0, 1]);

    queue.enqueue(&tenant("quiet"), JobId(200_000), None, (5, 1));

    assert_eq!(lease(&mut queue, 5, 2), [2, 200_000]);
}

#[test]
fn a_lane_runs_in_order_and_waits_for_a_retry_that_keeps_its_place() {
    let mut queue = Queue::default();
    for job in 1..=3 {
        queue.enqueue(&tenant("a"), JobId(job), Some("lane"), (0, 1));
    }

    assert_eq!(lease(&mut queue, 1, 9), [1]);
    queue.reschedule(JobId(1), (50, None), LanePosition::Keep);
    let retried = ask(&mut queue, 2, 9);
    assert_eq!((jobs(&retried), retried.next_due_ms), (vec![], Some(50)));
    assert_eq!(lease(&mut queue, 50, 9), [1]);
    queue.reschedule(JobId(1), (90, None), LanePosition::Leave);
    assert_eq!(lease(&mut queue, 51, 9), [2]);
    queue.remove(JobId(2));
    assert_eq!(lease(&mut queue, 90, 9), [3, 1]);
}

#[test]
fn a_queue_that_is_worked_off_keeps_nothing() {
    let mut queue = Queue::default();
    for job in 1..=4 {
        queue.enqueue(&tenant("a"), JobId(job), (job % 2 == 0).then_some("lane"), (job, 1));
    }
    for now in [10, 30, 50] {
        for job in lease(&mut queue, now, 9) {
            queue.remove(JobId(job));
        }
    }

    assert_eq!(lease(&mut queue, 99, 9), Vec::<u64>::new());
    assert!(queue.jobs.is_empty() && queue.tenants.is_empty());
    assert!(queue.waiting.is_empty() && queue.ring.is_empty());
}

/// What an embedded store keeps in memory of a paused run; everything else of it is on disk.
#[test]
fn a_hundred_thousand_paused_runs_cost_their_places_in_the_order_of_timers() {
    const RUNS: u64 = 100_000;
    let tenant = tenant("u_Ab12Cd34Ef56");
    let timer = |run: u64| format!("run/2zX5Gm9QkYt7Vb3Nc8Pd{run:07}");

    let (mut index, bytes) = held::bytes_of(|| {
        let mut index = Index::new(16, 1);
        for run in 0..RUNS {
            index.apply(&tenant, Change::SetTimer { timer: timer(run), due_ms: 1000 + run / 100 });
        }
        index
    });

    println!("bytes of memory for a paused run: {}", bytes / RUNS as usize);
    assert!(bytes / (RUNS as usize) < 256, "{bytes} bytes for {RUNS} runs");
    let everywhere = crate::Partition::all(16);
    let mut due = |now_ms: u64| {
        let request = LeaseRequest { now_ms, lease_ms: 60_000, max: 1000 };
        index.lease_timers(&everywhere, request).items.len()
    };
    assert_eq!((due(999), due(1000), due(1000), due(1001)), (0, 100, 0, 100));
}
