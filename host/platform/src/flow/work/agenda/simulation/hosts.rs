//! A host: its loop over the agenda, and how it tells of itself and hears of others.

use store::{Looked, Next, Origin, Partition, Wake, Wakes};

use super::{Bug, Event, Simulation};
use crate::flow::work::agenda::Asked;
use crate::hosts::{BEAT_MS, GONE_AFTER_MS, preferred};

impl Simulation {
    pub(super) fn turn(&mut self, host: usize, plan: u64) {
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

    pub(super) fn beat(&mut self, host: usize) {
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

    /// As the commit does: the host itself at once, the others of what is due later; messages may be lost.
    pub(super) fn tell(&mut self, from: usize, partition: Partition, due_ms: u64) {
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

    /// Replaces what the host had planned.
    fn plan(&mut self, host: usize, at_ms: u64) {
        self.hosts[host].plan += 1;
        let plan = self.hosts[host].plan;
        self.at(at_ms, Event::Turn(host, plan));
    }

    pub(super) fn is_awake(&self, host: usize) -> bool {
        self.hosts[host].is_alive && self.asleep_until(host).is_none()
    }

    pub(super) fn asleep_until(&self, host: usize) -> Option<u64> {
        let until_ms = self.hosts[host].paused_until_ms;
        (self.now_ms < until_ms).then_some(until_ms)
    }
}
