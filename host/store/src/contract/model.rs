//! Random work on an engine and on the in-memory model: every answer and every read must be equal.
//!
//! Ids of jobs, tokens and positions are the engine's own; leases are compared by what they carry
//! and used by their place in the list of all leases so far.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{World, text};
use crate::fake::Memory;
use crate::{
    Batch, CommitError, Committed, Enqueue, EntryQuery, EntryRef, JobLease, LanePosition, Lease, LeaseRequest, Op,
    Page, Precondition, Reads, Shares, Store, Tenant, TimerLease,
};

const STEPS: usize = 400;
/// Set it to repeat a run; a failure prints it.
const SEED: &str = "STORE_TEST_SEED";

#[derive(Debug, Clone)]
enum Step {
    Commit { second: bool, now_ms: u64, owner: Option<String>, requires: Vec<Require>, does: Vec<Do> },
    LeaseJobs { now_ms: u64, max: u32, each: u32, under_way: u32 },
    LeaseTimers { now_ms: u64, max: u32 },
    Extend { second: bool, lease: prop::sample::Index, until_ms: u64 },
}

/// A precondition or operation; those with leases name one of the leases so far.
#[derive(Debug, Clone)]
enum Require {
    Plain(Precondition),
    Lease(prop::sample::Index),
}

#[derive(Debug, Clone)]
enum Do {
    Plain(Op),
    Acknowledge(prop::sample::Index),
    Reschedule(prop::sample::Index, u64, Option<String>, LanePosition),
    Finish(prop::sample::Index, Option<u64>),
}

/// The leases one side has been given, in the order both sides were given them.
#[derive(Default)]
struct Leases {
    jobs: Vec<JobLease>,
    timers: Vec<TimerLease>,
}

/// With the seed that makes it the same again.
fn seeded() -> (u64, TestRunner) {
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| getrandom::u64().unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    (seed, TestRunner::new_with_rng(Config::default(), rng))
}

/// Groups of batches that an engine is given at once are answered as if each came after the one before. `send` gives it a
/// group.
pub(crate) async fn random_groups_do_what_the_model_does(
    world: &World,
    send: impl AsyncFn(Vec<Batch>) -> Vec<Result<Committed, CommitError>>,
) {
    const GROUPS: usize = 60;
    let (seed, mut runner) = seeded();
    let (model, leases) = (Memory::new(), Leases::default());
    for number in 0..GROUPS {
        let group: Vec<Batch> = (0..=number % 12).map(|_| random_batch(world, &leases, &mut runner)).collect();
        let mut expected = Vec::new();
        for batch in &group {
            expected.push(answer(model.commit(batch.clone()).await));
        }
        let found: Vec<String> = send(group.clone()).await.into_iter().map(answer).collect();
        assert_eq!(found, expected, "{SEED}={seed}, group {number}: {group:?}");
    }
    for tenant in [&world.tenant, &world.neighbour] {
        let expected = everything(&model, tenant).await;
        assert_eq!(everything(world.store.as_ref(), tenant).await, expected, "{SEED}={seed}");
    }
}

fn random_batch(world: &World, leases: &Leases, runner: &mut TestRunner) -> Batch {
    loop {
        let step = step().new_tree(runner).unwrap().current();
        if let Step::Commit { second, now_ms, owner, requires, does } = step {
            let mut batch = Batch::new(if second { &world.neighbour } else { &world.tenant }, now_ms);
            batch.lock_owner = owner;
            batch.preconditions = requires.iter().filter_map(|one| precondition(one, leases)).collect();
            batch.operations = does.iter().filter_map(|one| operation(one, leases)).collect();
            // What is no batch is refused before there is a group.
            if batch.check().is_ok() {
                return batch;
            }
        }
    }
}

pub(crate) async fn random_batches_do_what_the_model_does(world: World) {
    let (seed, mut runner) = seeded();
    let model = Memory::new();
    let mut held = (Leases::default(), Leases::default());
    for number in 0..STEPS {
        let step = step().new_tree(&mut runner).unwrap().current();
        let context = format!("{SEED}={seed}, step {number}: {step:?}");
        let expected = take(&model, &world, &mut held.0, &step).await;
        let found = take(world.store.as_ref(), &world, &mut held.1, &step).await;
        assert_eq!(found, expected, "{context}");
    }
    for tenant in [&world.tenant, &world.neighbour] {
        let expected = everything(&model, tenant).await;
        assert_eq!(everything(world.store.as_ref(), tenant).await, expected, "{SEED}={seed}");
    }
}

/// Does one step and tells what can be compared about its answer.
async fn take(store: &dyn Store, world: &World, held: &mut Leases, step: &Step) -> String {
    let tenant = |second: bool| if second { &world.neighbour } else { &world.tenant };
    match step {
        Step::Commit { second, now_ms, owner, requires, does } => {
            let mut batch = Batch::new(tenant(*second), *now_ms);
            batch.lock_owner = owner.clone();
            batch.preconditions = requires.iter().filter_map(|one| precondition(one, held)).collect();
            batch.operations = does.iter().filter_map(|one| operation(one, held)).collect();
            answer(store.commit(batch).await)
        }
        Step::LeaseJobs { now_ms, max, each, under_way } => {
            let request = LeaseRequest { now_ms: *now_ms, lease_ms: 20, max: *max };
            let shares = Shares { each: *each, under_way: HashMap::from([(world.tenant.clone(), *under_way)]) };
            let leased = store.lease_jobs(&world.partition(), request, shares).await.unwrap();
            held.jobs.extend(leased.items.iter().map(|job| job.lease));
            let jobs = leased.items.iter().map(|job| {
                (&job.tenant, &job.lane, job.due_ms, job.attempt, &job.payload, job.entry.map(|id| id.to_string()))
            });
            format!("{:?} {:?}", jobs.collect::<Vec<_>>(), leased.next_due_ms)
        }
        Step::LeaseTimers { now_ms, max } => {
            let request = LeaseRequest { now_ms: *now_ms, lease_ms: 20, max: *max };
            let leased = store.lease_timers(&world.partition(), request).await.unwrap();
            held.timers.extend(leased.items.iter().map(|tick| tick.lease.clone()));
            let ticks = leased.items.iter().map(|tick| (&tick.tenant, &tick.lease.timer, tick.due_ms, &tick.schedule));
            format!("{:?} {:?}", ticks.collect::<Vec<_>>(), leased.next_due_ms)
        }
        Step::Extend { second, lease, until_ms } => {
            let Some(lease) = any_lease(lease, held) else { return String::new() };
            format!("{:?}", store.extend(tenant(*second), &lease, *until_ms).await)
        }
    }
}

fn answer(outcome: Result<Committed, CommitError>) -> String {
    match outcome {
        Ok(Committed { versions, entries, counters, jobs, removed }) => {
            let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
            format!("{versions:?} {entries:?} {counters:?} {} {removed:?}", jobs.len())
        }
        Err(error) => format!("{error:?}"),
    }
}

fn any_lease(index: &prop::sample::Index, held: &Leases) -> Option<Lease> {
    let leases = held.jobs.len() + held.timers.len();
    let place = (leases > 0).then(|| index.index(leases))?;
    let job = held.jobs.get(place).map(|lease| Lease::Job(*lease));
    job.or_else(|| held.timers.get(place - held.jobs.len()).cloned().map(Lease::Timer))
}

fn job_lease(index: &prop::sample::Index, held: &Leases) -> Option<JobLease> {
    // Mostly one of the newest: those still count.
    let newest = held.jobs.len().saturating_sub(6);
    let recent = held.jobs.get(newest..)?;
    (!recent.is_empty()).then(|| *index.get(recent))
}

fn precondition(one: &Require, held: &Leases) -> Option<Precondition> {
    match one {
        Require::Plain(precondition) => Some(precondition.clone()),
        Require::Lease(index) => any_lease(index, held).map(Precondition::LeaseHeld),
    }
}

fn operation(one: &Do, held: &Leases) -> Option<Op> {
    match one {
        Do::Plain(operation) => Some(operation.clone()),
        Do::Acknowledge(index) => job_lease(index, held).map(Op::Acknowledge),
        Do::Reschedule(index, due_ms, payload, lane_position) => job_lease(index, held).map(|lease| Op::Reschedule {
            lease,
            due_ms: *due_ms,
            payload: payload.as_deref().map(text),
            lane_position: *lane_position,
        }),
        Do::Finish(index, next_due_ms) => {
            let recent = held.timers.get(held.timers.len().saturating_sub(3)..)?;
            let lease = (!recent.is_empty()).then(|| index.get(recent).clone())?;
            Some(Op::FinishTick { lease, next_due_ms: *next_due_ms })
        }
    }
}

/// All that can be read of a tenant, over the small universe of names below.
async fn everything(store: &dyn Store, tenant: &Tenant) -> String {
    let mut all = String::new();
    let names: Vec<String> = NAMES.iter().map(ToString::to_string).collect();
    for name in NAMES {
        let records = store.records(tenant, name, Page::newest(99)).await.unwrap();
        let items = records.items.into_iter().map(|record| (record.id, record.alias, record.version, record.value));
        all += &format!("{:?} {}\n", items.collect::<Vec<_>>(), records.total);
        for stream in store.streams(tenant, name).await.unwrap() {
            let entries = store.entries(tenant, name, &stream.name, EntryQuery::newest(99)).await.unwrap();
            all += &format!("{stream:?} {entries:?}\n");
        }
        all += &format!("{:?}\n", Reads::values(store, tenant, name, &names).await.unwrap());
    }
    all + &format!("{:?}", store.counters(tenant, &names).await.unwrap())
}

const NAMES: [&str; 3] = ["a", "b:c", "ü"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(ToOwned::to_owned)
}

fn short() -> impl Strategy<Value = String> {
    "[a-z]{0,6}"
}

fn now() -> impl Strategy<Value = u64> {
    1000..1100_u64
}

fn step() -> impl Strategy<Value = Step> {
    let (requires, does) = (prop::collection::vec(require(), 0..2), prop::collection::vec(does(), 0..6));
    let batch = (any::<bool>(), now(), prop::option::weighted(0.7, name()), requires, does);
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => batch.prop_map(|(second, now_ms, owner, requires, does)| Step::Commit { second, now_ms, owner, requires, does }),
        3 => (now(), 0..5_u32, 1..5_u32, 0..3_u32)
            .prop_map(|(now_ms, max, each, under_way)| Step::LeaseJobs { now_ms, max, each, under_way }),
        1 => (now(), 0..3_u32).prop_map(|(now_ms, max)| Step::LeaseTimers { now_ms, max }),
        1 => (any::<bool>(), index(), now()).prop_map(|(second, lease, until_ms)| Step::Extend { second, lease, until_ms }),
    ]
}

fn require() -> impl Strategy<Value = Require> {
    prop_oneof![
        (name(), name(), 0..3_u64).prop_map(|(kind, id, version)| Require::Plain(Precondition::RecordVersion {
            kind,
            id,
            version
        })),
        (name(), name()).prop_map(|(kind, id)| Require::Plain(Precondition::RecordAbsent { kind, id })),
        (name(), name()).prop_map(|(kind, alias)| Require::Plain(Precondition::AliasFree { kind, alias })),
        (name(), -3..9_i64).prop_map(|(counter, limit)| Require::Plain(Precondition::CounterBelow { counter, limit })),
        (name(), name(), prop::option::of(short())).prop_map(|(scope, key, value)| {
            let value = value.as_deref().map(text);
            Require::Plain(Precondition::ValueIs { scope, key, value })
        }),
        (0..9_u64, 0..60_u64).prop_map(|(jobs, bytes)| Require::Plain(Precondition::QueueFits { jobs, bytes })),
        any::<prop::sample::Index>().prop_map(Require::Lease),
    ]
}

fn does() -> impl Strategy<Value = Do> {
    prop_oneof![
        2 => records(),
        2 => streams(),
        2 => state(),
        4 => jobs(),
        1 => timers(),
    ]
}

fn records() -> impl Strategy<Value = Do> {
    let alias = prop::option::of(name());
    prop_oneof![
        3 => (name(), name(), alias, short())
            .prop_map(|(kind, id, alias, value)| Do::Plain(Op::PutRecord { kind, id, alias, value: text(&value) })),
        1 => (name(), name()).prop_map(|(kind, id)| Do::Plain(Op::DeleteRecord { kind, id })),
    ]
}

fn streams() -> impl Strategy<Value = Do> {
    prop_oneof![
        4 => (name(), name(), short(), 0..5_u32).prop_map(|(emitter, stream, value, keep)| Do::Plain(Op::Append {
            emitter,
            stream,
            value: text(&value),
            keep
        })),
        1 => (name(), name(), 0..3_u32).prop_map(|(emitter, stream, max)| {
            Do::Plain(Op::DeleteEntries { emitter, stream, first: None, last: None, max })
        }),
        1 => (name(), 0..3_u32).prop_map(|(emitter, max)| Do::Plain(Op::DropEmitter { emitter, max })),
    ]
}

fn state() -> impl Strategy<Value = Do> {
    prop_oneof![
        4 => (name(), name(), short(), 3..24_u64).prop_map(|(scope, key, value, cap_bytes)| Do::Plain(Op::SetValue {
            scope,
            key,
            value: text(&value),
            cap_bytes
        })),
        1 => (name(), name()).prop_map(|(scope, key)| Do::Plain(Op::RemoveValue { scope, key })),
        1 => name().prop_map(|scope| Do::Plain(Op::ClearScope { scope, max: 99 })),
        1 => (name(), name(), now()).prop_map(|(scope, key, until_ms)| Do::Plain(Op::Lock { scope, key, until_ms })),
        1 => name().prop_map(|scope| Do::Plain(Op::Unlock { scope })),
        2 => (name(), -3..9_i64)
            .prop_map(|(counter, amount)| Do::Plain(Op::Count { counter, amount, expires_ms: None })),
    ]
}

fn jobs() -> impl Strategy<Value = Do> {
    let lane_position = prop_oneof![Just(LanePosition::Keep), Just(LanePosition::Leave)];
    let index = any::<prop::sample::Index>;
    let entry = prop::option::weighted(0.1, Just(EntryRef::InBatch(0)));
    prop_oneof![
        4 => (prop::option::of(name()), now(), short(), entry, prop::option::weighted(0.1, now()))
            .prop_map(|(lane, due_ms, payload, entry, held)| {
                let held_until_ms = held.filter(|_| lane.is_none());
                Do::Plain(Op::Enqueue(Enqueue { lane, due_ms, payload: text(&payload), entry, held_until_ms }))
            }),
        3 => index().prop_map(Do::Acknowledge),
        1 => (index(), now(), prop::option::of(short()), lane_position)
            .prop_map(|(lease, due_ms, payload, lane_position)| Do::Reschedule(lease, due_ms, payload, lane_position)),
    ]
}

fn timers() -> impl Strategy<Value = Do> {
    prop_oneof![
        2 => (name(), now(), short())
            .prop_map(|(timer, due_ms, schedule)| Do::Plain(Op::SetTimer { timer, due_ms, schedule: text(&schedule) })),
        1 => name().prop_map(|timer| Do::Plain(Op::ClearTimer { timer })),
        2 => (any::<prop::sample::Index>(), prop::option::of(now())).prop_map(|(lease, next)| Do::Finish(lease, next)),
    ]
}
