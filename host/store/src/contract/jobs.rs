//! Jobs: due times, leases, lanes, turns.

use std::collections::HashMap;

use super::{World, job, job_about, leases, payloads, text};
use crate::{
    Batch, CommitError, Enqueue, EntryId, EntryRef, Head, JobLease, LanePosition, Lease, LeaseRequest, Load,
    MAX_LEASES, Op, Partition, Precondition, Shares, Tenant,
};

fn reschedule(lease: JobLease, due_ms: u64, payload: Option<&str>, lane_position: LanePosition) -> Op {
    Op::Reschedule { lease, due_ms, payload: payload.map(text), lane_position }
}

pub(crate) async fn a_job_is_leased_once_and_gone_when_acknowledged(world: World) {
    let ids = world.commit(vec![job(None, 10, "a"), job(None, 10, "b")]).await.jobs;

    let first = world.lease(10, 1).await;
    let second = world.lease(10, 9).await;
    let third = world.lease(10, 9).await;
    assert_eq!((payloads(&first), payloads(&second)), (vec!["a".into()], vec!["b".into()]));
    assert_eq!((third.items, third.next_due_ms), (vec![], Some(110)));
    assert_eq!(first.items.iter().chain(&second.items).map(|job| job.lease.job).collect::<Vec<_>>(), ids);

    let [a, b] = [leases(&first), leases(&second)].concat()[..] else { panic!("two leases") };
    world.commit(vec![Op::Acknowledge(a), Op::Acknowledge(b)]).await;
    let done = world.lease(9999, 9).await;
    assert_eq!((done.items, done.next_due_ms), (vec![], None));
}

pub(crate) async fn a_job_is_not_leased_before_it_is_due(world: World) {
    world.commit(vec![job(None, 20, "later"), job(None, 10, "sooner")]).await;

    let early = world.lease(9, 9).await;
    assert_eq!((early.items, early.next_due_ms), (vec![], Some(10)));
    let first = world.lease(10, 9).await;
    assert_eq!((payloads(&first), first.next_due_ms), (vec!["sooner".into()], Some(20)));
    assert_eq!(payloads(&world.lease(20, 9).await), ["later"]);
}

pub(crate) async fn a_job_that_its_host_holds_is_leased_when_the_hold_ends(world: World) {
    let hold = |payload: &str, held_until_ms| {
        let payload = text(payload);
        Op::Enqueue(Enqueue { lane: None, due_ms: 10, payload, entry: None, held_until_ms: Some(held_until_ms) })
    };
    world.commit(vec![hold("held", 500), hold("no longer", 5)]).await;

    let before = world.lease(499, 9).await;
    let after = world.lease(500, 9).await;

    assert_eq!((payloads(&before), before.next_due_ms), (vec!["no longer".into()], Some(500)));
    assert_eq!(payloads(&after), ["held"]);
    assert_eq!(after.items[0].due_ms, 10);
}

pub(crate) async fn a_tenant_is_given_no_more_than_its_share(world: World) {
    let (own, other) = (world.tenant.clone(), world.neighbour.clone());
    world.commit(vec![job(None, 0, "1"), job(None, 0, "2"), job(None, 0, "3"), job(None, 70, "later")]).await;
    world.store.commit(Batch::new(&other, 1).then(job(None, 0, "other"))).await.unwrap();
    let under_way = |count| Shares { each: 2, under_way: HashMap::from([(own.clone(), count)]) };

    let first = world.lease_shares(50, 9, under_way(1)).await;
    let full = world.lease_shares(51, 9, under_way(2)).await;
    let more = world.lease_shares(52, 1, under_way(1)).await;
    let all = world.lease_shares(53, 9, under_way(0)).await;

    assert_eq!(payloads(&first), ["1", "other"]);
    // What waits for a share is no reason to ask again; leases that end are.
    assert_eq!((full.items, full.next_due_ms), (vec![], Some(150)));
    assert_eq!((payloads(&more), more.next_due_ms), (vec!["2".to_owned()], Some(52)));
    assert_eq!((payloads(&all), all.next_due_ms), (vec!["3".to_owned()], Some(70)));
}

pub(crate) async fn a_tenant_without_a_share_is_no_reason_to_ask_again_when_its_job_is_held_longer(world: World) {
    let full = || Shares { each: 1, under_way: HashMap::from([(world.tenant.clone(), 1)]) };
    world.commit(vec![job(None, 0, "a")]).await;
    let leased = world.lease(10, 1).await;
    // The lease has ended, so the tenant has its turn, and no share.
    assert_eq!(world.lease_shares(110, 1, full()).await.next_due_ms, None);

    world.store.extend(&world.tenant, &Lease::from(leased.items[0].lease), 500).await.unwrap();

    let asked = world.lease_shares(120, 1, full()).await;
    assert_eq!((asked.items, asked.next_due_ms), (vec![], None));
    assert_eq!(payloads(&world.lease(500, 1).await), ["a"], "it is not forgotten");
}

pub(crate) async fn what_waits_is_shown_by_its_time_with_how_many_wait_behind_it(world: World) {
    let shown = async |skip, limit| {
        let heads = world.store.heads(&world.tenant, skip, limit).await.unwrap();
        let text = |head: Head| {
            let payload = String::from_utf8(head.payload.to_vec()).unwrap();
            (payload, head.available_ms, head.attempt, head.behind)
        };
        heads.into_iter().map(text).collect::<Vec<_>>()
    };
    let head = |payload: &str, at_ms, attempt, behind| (payload.to_owned(), at_ms, attempt, behind);
    assert_eq!(shown(0, 9).await, []);
    world.commit(vec![job(Some("a"), 10, "a1"), job(Some("a"), 10, "a2"), job(Some("a"), 10, "a3")]).await;
    world.commit(vec![job(None, 5, "free"), job(Some("b"), 20, "b1")]).await;
    world.store.commit(Batch::new(&world.neighbour, 1).then(job(None, 0, "other"))).await.unwrap();

    assert_eq!(shown(0, 9).await, [head("free", 5, 0, 0), head("a1", 10, 0, 2), head("b1", 20, 0, 0)]);
    assert_eq!(shown(1, 1).await, [head("a1", 10, 0, 2)]);
    assert_eq!((shown(3, 9).await, shown(0, 0).await), (vec![], vec![]));

    // A lease of 100 ms; then the first of the lane leaves it for a retry.
    let leased = world.lease(10, 9).await;
    assert_eq!(shown(0, 9).await, [head("b1", 20, 0, 0), head("a1", 110, 0, 2), head("free", 110, 0, 0)]);
    let retried = leased.items.iter().find(|job| job.payload == "a1").unwrap().lease;
    world.commit(vec![reschedule(retried, 500, None, LanePosition::Leave)]).await;
    let after = [head("a2", 10, 0, 1), head("b1", 20, 0, 0), head("free", 110, 0, 0), head("a1", 500, 1, 0)];
    assert_eq!(shown(0, 9).await, after);
}

pub(crate) async fn a_queue_is_filled_to_its_bound_and_not_beyond(world: World) {
    let fits = |jobs, bytes| vec![Precondition::QueueFits { jobs, bytes }];
    let add = async |bounds, operations| world.try_commit(1000, bounds, operations).await.is_ok();

    assert!(!add(fits(1, 100), vec![job(None, 0, "a"), job(None, 0, "b")]).await);
    assert!(add(fits(2, 6), vec![job(Some("lane"), 0, "abc"), job(Some("lane"), 5000, "def")]).await);
    assert!(!add(fits(2, 100), vec![job(None, 0, "")]).await);
    assert!(!add(fits(3, 6), vec![job(None, 0, "g")]).await);

    let [lease] = leases(&world.lease(0, 1).await)[..] else { panic!("one lease") };
    let retry = reschedule(lease, 0, Some("a"), LanePosition::Leave);
    assert!(add(vec![], vec![retry]).await);
    assert!(!add(fits(3, 5), vec![job(None, 0, "gh")]).await);
    assert!(add(fits(3, 6), vec![job(None, 0, "gh")]).await);

    let mut other = Batch::new(&world.neighbour, 1000);
    other.preconditions = fits(1, 1);
    assert!(world.store.commit(other.then(job(None, 99_999, "h"))).await.is_ok(), "each tenant has its own");

    let done: Vec<Op> = leases(&world.lease(9999, 9).await).into_iter().map(Op::Acknowledge).collect();
    assert_eq!(done.len(), 3);
    assert!(add(vec![], done).await);
    assert!(add(fits(1, 1), vec![job(None, 0, "i")]).await, "what is done takes no room");
}

pub(crate) async fn an_expired_lease_makes_the_job_available_again(world: World) {
    world.commit(vec![job(None, 0, "a")]).await;
    let first = world.lease(10, 9).await;

    assert_eq!(payloads(&world.lease(109, 9).await), Vec::<String>::new());
    let second = world.lease(110, 9).await;
    assert_eq!(payloads(&second), ["a"]);

    for operation in leases(&first).into_iter().map(Op::Acknowledge) {
        let lost = world.try_commit(111, vec![], vec![operation]).await;
        assert!(matches!(lost, Err(CommitError::LeaseLost)), "{lost:?}");
    }
    world.commit(leases(&second).into_iter().map(Op::Acknowledge).collect()).await;
    assert_eq!(world.lease(9999, 9).await.next_due_ms, None);
}

pub(crate) async fn late_work_counts_while_it_was_not_repeated(world: World) {
    world.commit(vec![job(None, 0, "a")]).await;
    let leased = world.lease(10, 9).await;

    let operations = leases(&leased).into_iter().map(Op::Acknowledge).collect();
    world.try_commit(99_999, vec![], operations).await.unwrap();

    assert_eq!(world.lease(100_000, 9).await.items, vec![]);
}

pub(crate) async fn a_lease_can_be_extended_and_given_back(world: World) {
    world.commit(vec![job(None, 0, "a")]).await;
    let lease = leases(&world.lease(10, 9).await).pop().unwrap();

    world.store.extend(&world.tenant, &lease.into(), 500).await.unwrap();
    let waiting = world.lease(499, 9).await;
    assert_eq!((waiting.items, waiting.next_due_ms), (vec![], Some(500)));
    world.store.extend(&world.tenant, &lease.into(), 20).await.unwrap();
    assert_eq!(payloads(&world.lease(20, 9).await), ["a"]);

    let lost = world.store.extend(&world.tenant, &lease.into(), 600).await;
    assert!(matches!(lost, Err(CommitError::LeaseLost)), "{lost:?}");
}

/// More than any engine moves in one step.
pub(crate) async fn leases_that_are_extended_at_once_are_each_extended(world: World) {
    const JOBS: u32 = 600;
    world.commit((0..JOBS).map(|_| job(None, 0, "x")).collect()).await;
    let leased = leases(&world.lease(10, JOBS).await);

    let extend = |lease: &JobLease| {
        let (store, tenant, lease) = (world.store.clone(), world.tenant.clone(), Lease::from(*lease));
        tokio::spawn(async move { store.extend(&tenant, &lease, 5000).await })
    };
    let extending: Vec<_> = leased.iter().map(extend).collect();
    for extended in extending {
        extended.await.unwrap().unwrap();
    }

    assert_eq!(leased.len(), 600);
    assert!(world.lease(4999, JOBS).await.items.is_empty());
    assert_eq!(world.lease(5000, JOBS).await.items.len(), 600);
}

pub(crate) async fn of_many_tenants_that_wait_the_earliest_is_when_to_ask_again(world: World) {
    let of_partition = |tenant: &Tenant| vec![tenant.partition(world.store.partitions())] == world.partition();
    let names = (0..).map(|number| Tenant::parse(&format!("u_c{number}")).unwrap());
    let tenants: Vec<Tenant> = names.filter(of_partition).take(20).collect();
    for (tenant, number) in tenants.iter().zip(0..) {
        // The last to come is the first that is due.
        let due_ms = 9000 - 100 * number;
        world.store.commit(Batch::new(tenant, 1000).then(job(None, due_ms, "x"))).await.unwrap();
    }

    let early = world.lease(2000, 100).await;

    assert_eq!((early.items.len(), early.next_due_ms), (0, Some(7100)));
    assert_eq!(world.lease(7200, 100).await.items.len(), 2);
}

pub(crate) async fn a_lane_runs_in_order_of_arrival(world: World) {
    let lane = Some("wh_1");
    world.commit(vec![job(lane, 50, "1"), job(lane, 0, "2"), job(Some("wh_2"), 0, "x"), job(None, 0, "y")]).await;
    world.commit(vec![job(lane, 0, "3")]).await;

    assert_eq!(payloads(&world.lease(10, 9).await), ["x", "y"]);
    for expected in ["1", "2", "3"] {
        let leased = world.lease(50, 9).await;
        assert_eq!(payloads(&leased), [expected]);
        assert_eq!(leased.items.first().and_then(|job| job.lane.as_deref()), lane);
        assert_eq!(payloads(&world.lease(50, 9).await), Vec::<String>::new());
        world.commit(leases(&leased).into_iter().map(Op::Acknowledge).collect()).await;
    }
}

pub(crate) async fn a_retry_keeps_or_leaves_its_lane(world: World) {
    world.commit(vec![job(Some("l"), 0, "1"), job(Some("l"), 0, "2")]).await;

    let lease = leases(&world.lease(10, 9).await).pop().unwrap();
    world.commit(vec![reschedule(lease, 30, Some("1 again"), LanePosition::Keep)]).await;
    let waiting = world.lease(20, 9).await;
    assert_eq!((waiting.items, waiting.next_due_ms), (vec![], Some(30)));
    let retry = world.lease(30, 9).await;
    assert_eq!(payloads(&retry), ["1 again"]);
    assert_eq!(retry.items.iter().map(|job| (job.attempt, job.due_ms)).collect::<Vec<_>>(), [(1, 30)]);

    let lease = leases(&retry).pop().unwrap();
    world.commit(vec![reschedule(lease, 60, None, LanePosition::Leave)]).await;
    assert_eq!(payloads(&world.lease(40, 9).await), ["2"]);
    let last = world.lease(60, 9).await;
    assert_eq!(payloads(&last), ["1 again"]);
    assert_eq!(last.items.iter().map(|job| (job.attempt, job.lane.clone())).collect::<Vec<_>>(), [(2, None)]);
}

pub(crate) async fn tenants_take_turns(world: World) {
    world.commit((0..3000).map(|n| job(None, 0, &n.to_string())).collect()).await;
    assert_eq!(payloads(&world.lease(5, 2).await), ["0", "1"]);

    world.store.commit(Batch::new(&world.neighbour, 5).then(job(None, 5, "fresh"))).await.unwrap();
    let next = world.lease(5, 3).await;

    assert_eq!(payloads(&next), ["2", "fresh", "3"]);
    assert_eq!(next.items.iter().filter(|job| job.tenant == world.neighbour).count(), 1);
    assert_eq!(next.next_due_ms, Some(5));
}

pub(crate) async fn a_job_knows_the_entry_of_its_batch(world: World) {
    let append = |value| Op::Append { emitter: "e".into(), stream: "default".into(), value: text(value), keep: 9 };
    let known = EntryId::new(7, 8);
    let operations = vec![
        append("a"),
        append("b"),
        job_about(EntryRef::InBatch(1), "second"),
        job_about(EntryRef::InBatch(0), "first"),
        job_about(EntryRef::Id(known), "known"),
        job(None, 0, "none"),
    ];

    let committed = world.commit(operations).await;
    let leased = world.lease(10, 9).await;

    let [first, second] = committed.entries[..] else { panic!("two entries") };
    let entries: Vec<_> = leased.items.iter().map(|job| job.entry).collect();
    assert_eq!(payloads(&leased), ["second", "first", "known", "none"]);
    assert_eq!(entries, [Some(second), Some(first), Some(known), None]);
}

pub(crate) async fn a_lease_call_gives_at_most_a_thousand_jobs(world: World) {
    let many = MAX_LEASES as usize + 1;
    world.commit((0..many).map(|_| job(None, 0, "")).collect()).await;
    let everywhere = Partition::all(world.store.partitions());
    let request = |max| LeaseRequest { now_ms: 1, lease_ms: 0, max };

    let full = world.store.lease_jobs(&everywhere, request(u32::MAX), Shares::default()).await.unwrap();
    assert_eq!((full.items.len(), full.next_due_ms), (many - 1, Some(1)));
    assert_eq!(world.store.lease_jobs(&everywhere, request(0), Shares::default()).await.unwrap().items, vec![]);
    // A lease of no length is one millisecond long: the job is not given out twice in one call.
    assert_eq!(world.store.lease_jobs(&everywhere, request(u32::MAX), Shares::default()).await.unwrap().items.len(), 1);
}

pub(crate) async fn a_lease_of_another_tenant_does_not_count(world: World) {
    world.commit(vec![job(None, 0, "a")]).await;
    let lease = leases(&world.lease(10, 9).await).pop().unwrap();
    let held = |lease: JobLease| Precondition::LeaseHeld(Lease::Job(lease));

    let foreign = world.store.commit(Batch::new(&world.neighbour, 1).then(Op::Acknowledge(lease))).await;
    assert!(matches!(foreign, Err(CommitError::LeaseLost)), "{foreign:?}");
    let wrong = JobLease { job: lease.job, token: lease.token + 1 };
    let lost = world.try_commit(1, vec![held(wrong)], vec![]).await;
    assert!(matches!(lost, Err(CommitError::LeaseLost)), "{lost:?}");
    assert!(world.try_commit(1, vec![held(lease)], vec![]).await.is_ok());
}

pub(crate) async fn a_backlog_in_one_partition_does_not_hold_up_the_others(world: World) {
    let count = world.store.partitions();
    let far = (0..)
        .map(|number| Tenant::parse(&format!("far{number}")).unwrap())
        .find(|other| other.partition(count) != world.tenant.partition(count))
        .unwrap();
    let request = LeaseRequest { now_ms: 1, lease_ms: 9, max: 1 };
    world.commit(vec![job(None, 0, "backlog"); usize::from(count) + 1]).await;
    world.store.commit(Batch::new(&far, 1).then(job(None, 0, "far"))).await.unwrap();

    let mut seen = Vec::new();
    for _ in 0..count {
        seen.extend(payloads(
            &world.store.lease_jobs(&Partition::all(count), request, Shares::default()).await.unwrap(),
        ));
    }

    assert!(seen.contains(&"far".to_owned()), "{seen:?}");
}

pub(crate) async fn a_tenant_without_a_share_is_not_waited_for(world: World) {
    world.commit(vec![job(None, 10, "a")]).await;
    let [lease] = leases(&world.lease(10, 1).await).try_into().unwrap();
    let full = || Shares { each: 1, under_way: HashMap::from([(world.tenant.clone(), 1)]) };
    // The lease has run out, and it is the tenant's turn, which has no share for it.
    assert!(world.lease_shares(110, 9, full()).await.items.is_empty());
    world.store.extend(&world.tenant, &lease.into(), 200).await.unwrap();

    let leased = world.lease_shares(120, 9, full()).await;

    assert_eq!((leased.items.len(), leased.next_due_ms), (0, None), "the end of its work tells when to ask again");
    assert_eq!(payloads(&world.lease(200, 9).await), ["a"]);
}

pub(crate) async fn the_load_tells_what_waits_and_since_when(world: World) {
    assert_eq!((world.load(50).await, world.load(0).await), (Load::default(), Load::default()), "nothing waits");
    let timer = |timer: &str, due_ms| Op::SetTimer { timer: timer.into(), due_ms, schedule: text("") };
    world.commit(vec![job(Some("lane"), 20, "a"), job(Some("lane"), 10, "b"), job(None, 30, "c")]).await;
    world.commit(vec![timer("soon", 25), timer("later", 500)]).await;

    let expected = Load { jobs: 3, timers: 2, ..Load::default() };
    assert_eq!(world.load(19).await, expected, "neither a job nor a tick is due");
    let late = Load { oldest_job_ms: Some(20), oldest_tick_ms: Some(25), ..expected };
    assert_eq!(world.load(40).await, late, "a job behind another one in its lane cannot be worked on yet");

    let leased = world.lease(40, 1).await;
    assert_eq!(payloads(&leased), ["a"]);
    assert_eq!(
        world.load(40).await,
        Load { oldest_job_ms: Some(30), ..late },
        "one that is being worked on is not late"
    );
    let mut done = leases(&leased).into_iter().map(Op::Acknowledge).collect::<Vec<_>>();
    done.push(Op::ClearTimer { timer: "soon".into() });
    world.commit(done).await;
    let rest = Load { jobs: 2, oldest_job_ms: Some(10), timers: 1, ..Load::default() };
    assert_eq!(world.load(40).await, rest);
}
