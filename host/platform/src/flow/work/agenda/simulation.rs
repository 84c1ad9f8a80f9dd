//! Many short lives of a few hosts on one store, in virtual time: the agenda, the preference and the renewal of leases are
//! the real ones, the store is a model of its promises.
//!
//! A schedule is made from a seed: hosts that die, pause and come back, a store that is away, pulses that are lost, work
//! that comes up meanwhile. The rules are checked at every step and at the end; for each rule there is a bug that breaks
//! it, and it is found.

mod faults;
mod hosts;
mod schedule;
mod work;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use store::{Looked, Next, Partition, Sharing};

use super::{Agenda, SHARED_LOOK_MS};

const SCHEDULES: u64 = 100_000;
const THREADS: u64 = 2;
const LEASE_MS: u64 = 4000;
/// Within this, work of a host that died is begun again by another.
const TAKEOVER_MS: u64 = 5000;
/// From here on nothing goes wrong any more, and everything must be done by the end.
const CALM_MS: u64 = 12_000;
const END_MS: u64 = 40_000;
const START_MS: u64 = 1_000_000;

/// One thing that is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    CommitsAreNotFenced,
    LeasesDoNotExpire,
    LeasesAreNotRenewed,
    LanesAreIgnored,
    OnlyThePreferredHostLooks,
    NoHostLooksForItself,
    TheOwnClockDecides,
    ADeadHostIsNotNoticed,
    HostsDoNotWaitForRenewals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A host goes through its loop; the number tells a plan that was replaced.
    Turn(usize, u64),
    Beat(usize),
    End(usize, usize, u64),
    Renew(usize, usize, u64),
    Enqueue(usize),
    Kill(usize),
    Pause(usize, u64),
    Outage(u64),
}

struct Item {
    partition: Partition,
    /// Items of a lane are done one at a time, in the order in which they came.
    lane: Option<u64>,
    order: u64,
    /// A timer comes back after this.
    period_ms: Option<u64>,
    due_ms: u64,
    available_ms: u64,
    token: u64,
    /// When it could last be begun: since then nothing stood in its way.
    ready_ms: u64,
    is_done: bool,
    /// Attempts whose host is alive and awake.
    working: u32,
    /// The attempt that ended without a commit: its host no longer renews it.
    ended: u64,
}

struct HostModel {
    id: String,
    is_alive: bool,
    paused_until_ms: u64,
    agenda: Agenda,
    known: Vec<String>,
    /// Of its own clock; the store's is used.
    skew_ms: u64,
    plan: u64,
    free: u32,
}

struct Simulation {
    bug: Bug,
    random: u64,
    now_ms: u64,
    sharing: Sharing,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    items: Vec<Item>,
    hosts: Vec<HostModel>,
    /// When each host was last heard of.
    seen_ms: Vec<u64>,
    outage_until_ms: u64,
    last_fault_ms: u64,
    tokens: u64,
    broken: Option<&'static str>,
}

// === impl Simulation ===

impl Simulation {
    fn new(seed: u64, bug: Bug) -> Self {
        let mut simulation = Self {
            bug,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now_ms: START_MS,
            sharing: Sharing::Server,
            events: BinaryHeap::new(),
            sequence: 0,
            items: Vec::new(),
            hosts: Vec::new(),
            seen_ms: Vec::new(),
            outage_until_ms: 0,
            last_fault_ms: START_MS,
            tokens: 0,
            broken: None,
        };
        simulation.set_up();
        simulation
    }

    fn run(mut self) -> Option<&'static str> {
        while let Some(Reverse((at_ms, _, event))) = self.events.pop() {
            if self.broken.is_some() || at_ms > START_MS + END_MS {
                break;
            }
            self.now_ms = at_ms;
            self.handle(event);
        }
        let is_left = |item: &Item| !item.is_done && item.period_ms.is_none();
        if self.items.iter().any(is_left) {
            self.broken.get_or_insert("work was never done");
        }
        self.broken
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Turn(host, plan) => self.turn(host, plan),
            Event::Beat(host) => self.beat(host),
            Event::End(host, item, token) => self.end(host, item, token),
            Event::Renew(host, item, token) => self.renew(host, item, token),
            Event::Enqueue(item) => self.enqueue(item),
            Event::Kill(host) => self.kill(host),
            Event::Pause(host, pause_ms) => self.pause(host, pause_ms),
            Event::Outage(outage_ms) => self.outage(outage_ms),
        }
    }

    fn is_away(&self) -> bool {
        self.now_ms < self.outage_until_ms
    }

    fn at(&mut self, at_ms: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at_ms, self.sequence, event)));
    }

    /// xorshift64*, for which a seed is enough.
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound.max(1)
    }
}

#[test]
fn no_schedule_of_faults_breaks_a_rule() {
    let search = |thread: u64| {
        let seeds = (0..SCHEDULES).skip(thread as usize).step_by(THREADS as usize);
        seeds.filter_map(|seed| Some((seed, Simulation::new(seed, Bug::None).run()?))).next()
    };
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || search(thread))).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });

    assert_eq!(found, [], "seed and rule");
}

#[test]
fn a_bug_in_each_rule_is_found() {
    const TRIES: u64 = 20_000;
    let found = |bug: Bug| (0..TRIES).find_map(|seed| Simulation::new(seed, bug).run());
    let check = |bug: Bug, rules: &[&str]| {
        let broken = found(bug).unwrap_or("nothing");
        assert!(rules.contains(&broken), "{bug:?}: {broken}");
    };

    check(Bug::CommitsAreNotFenced, &["work was committed twice"]);
    const NEVER: [&str; 2] = ["work was never done", "work waited longer than a take-over may take"];
    check(Bug::LeasesDoNotExpire, &NEVER);
    check(Bug::OnlyThePreferredHostLooks, &NEVER);
    check(Bug::NoHostLooksForItself, &NEVER);
    check(Bug::ADeadHostIsNotNoticed, &NEVER);
    const TWICE: [&str; 2] =
        ["work was begun twice while its host was well", "two of a lane, or one twice, were worked on at once"];
    check(Bug::LeasesAreNotRenewed, &TWICE);
    check(Bug::HostsDoNotWaitForRenewals, &TWICE);
    check(Bug::LanesAreIgnored, &["two of a lane, or one twice, were worked on at once"]);
    check(Bug::TheOwnClockDecides, &[&["work was begun before it was due"][..], &TWICE].concat());
}

#[test]
fn an_idle_host_looks_every_three_seconds() {
    let mut agenda = Agenda::new(Sharing::Server, Partition::all(16), START_MS);
    let (mut looks, mut now_ms) = (0, START_MS);
    while now_ms < START_MS + 300_000 {
        let asked = agenda.due(now_ms).to_lease;
        looks += u64::from(!asked.is_empty());
        let looked: Vec<Looked> =
            asked.into_iter().map(|partition| Looked { partition, next: Next::Due(None) }).collect();
        agenda.note(now_ms, &looked);
        now_ms = agenda.next_ms();
    }

    assert_eq!(looks, 300_000 / SHARED_LOOK_MS);
}
