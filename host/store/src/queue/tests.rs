//! Turns, lanes and leases, without any engine.

use super::Queue;
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
