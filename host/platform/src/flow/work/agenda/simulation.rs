//! Many short lives of a few hosts on one store, in virtual time: the agenda, the preference and the renewal of leases are
//! the real ones, the store is a model of its promises.
//!
//! A schedule is made from a seed: hosts that die, pause and come back, a store that is away, pulses that are lost, work
//! that comes up meanwhile. The rules are checked at every step and at the end; for each rule there is a bug that breaks
//! it, and it is found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use store::{Looked, Next, Origin, Partition, Sharing, Wake, Wakes};

use super::{Agenda, Asked, SHARED_LOOK_MS};
use crate::flow::work::perform::renewal_ms;
use crate::hosts::{BEAT_MS, GONE_AFTER_MS, preferred};

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

    fn set_up(&mut self) {
        if self.below(3) == 0 {
            self.sharing = Sharing::Cluster;
        }
        let partitions = Partition::all(1 + self.below(4) as u16);
        let count = 1 + self.below(3) as usize;
        let ids: Vec<String> = (0..count).map(|host| format!("host-{host}-{}", self.below(1000))).collect();
        for (index, id) in ids.iter().enumerate() {
            let mut agenda = Agenda::new(self.sharing, partitions.clone(), START_MS);
            agenda.prefer(|partition| preferred(&ids, partition) == Some(id));
            if self.bug == Bug::NoHostLooksForItself {
                agenda.look_ms = u64::MAX;
            }
            let skew_ms = if self.bug == Bug::TheOwnClockDecides { self.below(300_000) } else { 0 };
            let (id, known) = (id.clone(), ids.clone());
            let host = HostModel { id, is_alive: true, paused_until_ms: 0, agenda, known, skew_ms, plan: 0, free: 4 };
            self.hosts.push(host);
            self.seen_ms.push(START_MS);
            let (turn_ms, beat_ms) = (START_MS + self.below(20), START_MS + self.below(BEAT_MS));
            self.at(turn_ms, Event::Turn(index, 0));
            self.at(beat_ms, Event::Beat(index));
        }
        for _ in 0..2 + self.below(5) {
            let at_ms = START_MS + self.below(CALM_MS);
            let partition = partitions[self.below(partitions.len() as u64) as usize];
            let lane = if self.below(2) == 0 { Some(self.below(2)) } else { None };
            let period_ms = if lane.is_none() && self.below(2) == 0 { Some(1000 + self.below(4000)) } else { None };
            let later_ms = if self.below(2) == 0 { 0 } else { self.below(6000) };
            let due_ms = at_ms + later_ms;
            self.items.push(Item {
                partition,
                lane,
                order: u64::MAX,
                period_ms,
                due_ms,
                available_ms: u64::MAX,
                token: 0,
                ready_ms: due_ms,
                is_done: false,
                working: 0,
                ended: 0,
            });
            let item = self.items.len() - 1;
            self.at(at_ms, Event::Enqueue(item));
        }
        for _ in 0..self.below(3) {
            let (at_ms, host) = (START_MS + self.below(CALM_MS), self.below(count as u64) as usize);
            let event = match self.below(3) {
                0 if count > 1 && host > 0 => Event::Kill(host),
                1 => Event::Pause(host, 500 + self.below(8000)),
                _ => Event::Outage(200 + self.below(6000)),
            };
            self.at(at_ms, event);
        }
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
            Event::Outage(outage_ms) => {
                // A store that goes again before its hosts have noticed that it was back was away all the time.
                if self.now_ms < self.outage_until_ms + 2000 && self.outage_until_ms > 0 {
                    return;
                }
                self.outage_until_ms = self.now_ms + outage_ms;
                self.disturbed(self.outage_until_ms);
            }
        }
    }

    fn kill(&mut self, host: usize) {
        self.hosts[host].is_alive = false;
        // Its attempts are over; whatever it held may be begun again when the leases have run out.
        self.items.iter_mut().for_each(|item| item.working = 0);
        self.disturbed(self.now_ms);
    }

    fn pause(&mut self, host: usize, pause_ms: u64) {
        let until_ms = self.now_ms + pause_ms;
        self.hosts[host].paused_until_ms = self.hosts[host].paused_until_ms.max(until_ms);
        self.items.iter_mut().for_each(|item| item.working = 0);
        self.disturbed(until_ms);
    }

    fn disturbed(&mut self, until_ms: u64) {
        self.last_fault_ms = self.last_fault_ms.max(until_ms);
    }

    /// Work is committed by any host that is there.
    fn enqueue(&mut self, index: usize) {
        let awake: Vec<usize> = (0..self.hosts.len()).filter(|host| self.is_awake(*host)).collect();
        if awake.is_empty() || self.is_away() {
            let later_ms = self.now_ms + 300;
            self.items[index].ready_ms = self.items[index].ready_ms.max(later_ms);
            return self.at(later_ms, Event::Enqueue(index));
        }
        let host = awake[self.below(awake.len() as u64) as usize];
        let item = &mut self.items[index];
        item.order = self.sequence;
        item.available_ms = item.due_ms;
        item.ready_ms = item.ready_ms.max(self.now_ms);
        let (partition, due_ms) = (item.partition, item.due_ms);
        self.tell(host, partition, due_ms);
    }

    /// As the commit does: the host itself at once, the others of what is due later; messages may be lost.
    fn tell(&mut self, from: usize, partition: Partition, due_ms: u64) {
        for host in 0..self.hosts.len() {
            let is_later = due_ms > self.now_ms + 1000;
            let is_heard = host == from || (is_later && self.below(4) > 0);
            if !is_heard || !self.hosts[host].is_alive {
                continue;
            }
            let origin = if host == from { Origin::Here } else { Origin::There };
            let wakes = Wakes { partitions: vec![Wake { partition, due_ms, origin }], ..Wakes::default() };
            self.hosts[host].agenda.hear(self.now_ms, &wakes);
            self.plan(host, self.now_ms);
        }
    }

    fn turn(&mut self, host: usize, plan: u64) {
        if self.hosts[host].plan != plan || !self.hosts[host].is_alive {
            return;
        }
        if let Some(until_ms) = self.asleep_until(host) {
            return self.plan(host, until_ms);
        }
        let clock_ms = self.now_ms + self.hosts[host].skew_ms;
        let Asked { mut to_lease, mut to_look_at } = self.hosts[host].agenda.due(self.now_ms);
        if self.bug == Bug::NoHostLooksForItself {
            self.hosts[host].agenda.look_ms = u64::MAX;
        }
        if self.bug == Bug::HostsDoNotWaitForRenewals {
            to_lease.append(&mut to_look_at);
        }
        if self.is_away() {
            self.hosts[host].agenda.fail(self.now_ms, &[to_lease, to_look_at].concat());
        } else {
            self.look(host, &to_look_at);
            if self.hosts[host].free > 0 {
                self.lease(host, &to_lease, clock_ms);
            }
        }
        let next_ms = self.hosts[host].agenda.next_ms().max(self.now_ms + 1);
        let next_ms = if self.hosts[host].free == 0 { next_ms.max(self.now_ms + 50) } else { next_ms };
        self.plan(host, next_ms);
    }

    fn lease(&mut self, host: usize, asked: &[Partition], clock_ms: u64) {
        for partition in asked {
            let mut taken = Vec::new();
            for item in 0..self.items.len() {
                let is_free = self.hosts[host].free > taken.len() as u32;
                if is_free && self.items[item].partition == *partition && self.is_leasable(item, clock_ms) {
                    taken.push(item);
                }
            }
            for item in taken {
                self.begin(host, item, clock_ms);
            }
        }
        self.look(host, asked);
    }

    fn look(&mut self, host: usize, asked: &[Partition]) {
        let mut looked = Vec::new();
        for partition in asked {
            let due = |index: usize| self.is_head(index).then_some(self.items[index].available_ms);
            let of_partition = (0..self.items.len()).filter(|index| self.items[*index].partition == *partition);
            let next = of_partition.filter_map(due).filter(|due_ms| *due_ms != u64::MAX).min();
            looked.push(Looked { partition: *partition, next: Next::Due(next) });
        }
        self.hosts[host].agenda.note(self.now_ms, &looked);
        if self.bug == Bug::OnlyThePreferredHostLooks {
            let host = &mut self.hosts[host];
            for entry in host.agenda.partitions.iter_mut().filter(|entry| !entry.is_preferred) {
                entry.look_ms = None;
            }
        }
    }

    fn is_head(&self, index: usize) -> bool {
        let item = &self.items[index];
        let is_before = |other: &Item| {
            !other.is_done && other.lane == item.lane && other.partition == item.partition && other.order < item.order
        };
        let is_behind = item.lane.is_some() && self.bug != Bug::LanesAreIgnored && self.items.iter().any(is_before);
        !item.is_done && item.available_ms != u64::MAX && !is_behind
    }

    fn is_leasable(&self, index: usize, clock_ms: u64) -> bool {
        let item = &self.items[index];
        let is_lost = self.bug == Bug::LeasesDoNotExpire && item.token > 0;
        self.is_head(index) && item.available_ms <= clock_ms && !is_lost
    }

    fn begin(&mut self, host: usize, index: usize, clock_ms: u64) {
        let (ready_ms, due_ms) = (self.items[index].ready_ms.max(self.last_fault_ms), self.items[index].due_ms);
        if self.now_ms < due_ms {
            self.broken = Some("work was begun before it was due");
        }
        if self.now_ms > ready_ms + TAKEOVER_MS {
            self.broken = Some("work waited longer than a take-over may take");
        }
        let lane = self.items[index].lane.map(|lane| (self.items[index].partition, lane));
        let is_beside = |other: &Item| {
            lane.is_some() && other.working > 0 && other.lane.map(|lane| (other.partition, lane)) == lane
        };
        if self.items.iter().any(is_beside) {
            self.broken = Some("two of a lane, or one twice, were worked on at once");
        }
        if self.items[index].working > 0 {
            self.broken = Some("work was begun twice while its host was well");
        }
        self.tokens += 1;
        let token = self.tokens;
        let item = &mut self.items[index];
        (item.token, item.available_ms, item.working) = (token, clock_ms + LEASE_MS, item.working + 1);
        self.hosts[host].free -= 1;
        let takes_ms = if self.below(4) == 0 { self.below(9000) } else { self.below(200) };
        self.at(self.now_ms + takes_ms, Event::End(host, index, token));
        self.at(renewal_ms(self.now_ms, LEASE_MS), Event::Renew(host, index, token));
    }

    fn renew(&mut self, host: usize, index: usize, token: u64) {
        if !self.hosts[host].is_alive || self.bug == Bug::LeasesAreNotRenewed {
            return;
        }
        if let Some(until_ms) = self.asleep_until(host) {
            return self.at(until_ms, Event::Renew(host, index, token));
        }
        let item = &mut self.items[index];
        if item.is_done || item.token != token || item.ended == token {
            return;
        }
        if self.now_ms < self.outage_until_ms {
            // The breaker of the host lets it through when it is next its turn.
            let again_ms = self.now_ms + 200 + self.below(500);
            return self.at(again_ms, Event::Renew(host, index, token));
        }
        item.available_ms = self.now_ms + LEASE_MS;
        self.at(renewal_ms(self.now_ms, LEASE_MS), Event::Renew(host, index, token));
    }

    fn end(&mut self, host: usize, index: usize, token: u64) {
        if !self.hosts[host].is_alive {
            return;
        }
        if let Some(until_ms) = self.asleep_until(host) {
            return self.at(until_ms, Event::End(host, index, token));
        }
        self.hosts[host].free += 1;
        let is_away = self.is_away();
        let item = &mut self.items[index];
        let is_held = item.token == token && !item.is_done;
        if is_held {
            item.working = 0;
        }
        if is_away {
            // Not acknowledged: the lease runs out.
            item.ready_ms = item.ready_ms.max(item.available_ms);
            item.ended = if is_held { token } else { item.ended };
            return;
        }
        if !is_held && self.bug != Bug::CommitsAreNotFenced {
            return;
        }
        if item.is_done || !is_held {
            self.broken = Some("work was committed twice");
            return;
        }
        let (partition, period_ms) = (item.partition, item.period_ms);
        match period_ms {
            Some(period_ms) if self.now_ms < START_MS + CALM_MS => {
                item.due_ms = (item.due_ms + period_ms).max(self.now_ms + 1);
                (item.available_ms, item.token, item.ready_ms) = (item.due_ms, 0, item.due_ms);
                let due_ms = item.due_ms;
                self.tell(host, partition, due_ms);
            }
            _ => {
                item.is_done = true;
                self.release_lane(host, index);
            }
        }
    }

    /// The next of the lane is due from now on.
    fn release_lane(&mut self, host: usize, done: usize) {
        let (partition, lane) = (self.items[done].partition, self.items[done].lane);
        if lane.is_none() {
            return;
        }
        let is_next = |item: &&Item| {
            !item.is_done && item.partition == partition && item.lane == lane && item.available_ms != u64::MAX
        };
        let next = self.items.iter().filter(is_next).map(|item| item.order).min();
        if let Some(next) = self.items.iter().position(|item| Some(item.order) == next) {
            let item = &mut self.items[next];
            item.ready_ms = item.ready_ms.max(self.now_ms);
            let due_ms = item.available_ms.max(self.now_ms);
            self.tell(host, partition, due_ms);
        }
    }

    fn beat(&mut self, host: usize) {
        if !self.hosts[host].is_alive {
            return;
        }
        if let Some(until_ms) = self.asleep_until(host) {
            return self.at(until_ms, Event::Beat(host));
        }
        if self.is_away() {
            self.hosts[host].agenda.hear(self.now_ms, &Wakes { was_away: true, ..Wakes::default() });
            return self.at(self.now_ms + 500, Event::Beat(host));
        }
        self.at(self.now_ms + BEAT_MS, Event::Beat(host));
        self.seen_ms[host] = self.now_ms;
        let is_there = |other: &usize| {
            self.seen_ms[*other] + GONE_AFTER_MS > self.now_ms || self.bug == Bug::ADeadHostIsNotNoticed
        };
        let there: Vec<String> =
            (0..self.hosts.len()).filter(is_there).map(|other| self.hosts[other].id.clone()).collect();
        if self.hosts[host].known == there {
            return;
        }
        let is_gone = self.hosts[host].known.iter().any(|id| !there.contains(id));
        let (now_ms, own) = (self.now_ms, self.hosts[host].id.clone());
        let agenda = &mut self.hosts[host].agenda;
        agenda.prefer(|partition| preferred(&there, partition) == Some(&own));
        if is_gone {
            agenda.hear(now_ms, &Wakes { anywhere: true, ..Wakes::default() });
        }
        self.hosts[host].known = there;
        self.plan(host, now_ms);
    }

    fn is_awake(&self, host: usize) -> bool {
        self.hosts[host].is_alive && self.asleep_until(host).is_none()
    }

    fn asleep_until(&self, host: usize) -> Option<u64> {
        let until_ms = self.hosts[host].paused_until_ms;
        (self.now_ms < until_ms).then_some(until_ms)
    }

    fn is_away(&self) -> bool {
        self.now_ms < self.outage_until_ms
    }

    /// Replaces what the host had planned.
    fn plan(&mut self, host: usize, at_ms: u64) {
        self.hosts[host].plan += 1;
        let plan = self.hosts[host].plan;
        self.at(at_ms, Event::Turn(host, plan));
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
