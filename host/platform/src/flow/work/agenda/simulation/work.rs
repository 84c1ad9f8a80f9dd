//! Work as the store keeps its promises about it: leased, renewed, committed once, and one of a lane at a time.

use super::{Bug, CALM_MS, Event, Item, LEASE_MS, START_MS, Simulation, TAKEOVER_MS};
use crate::flow::work::perform::renewal_ms;

impl Simulation {
    /// Work is committed by any host that is there.
    pub(super) fn enqueue(&mut self, index: usize) {
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

    pub(super) fn is_head(&self, index: usize) -> bool {
        let item = &self.items[index];
        let is_before = |other: &Item| {
            !other.is_done && other.lane == item.lane && other.partition == item.partition && other.order < item.order
        };
        let is_behind = item.lane.is_some() && self.bug != Bug::LanesAreIgnored && self.items.iter().any(is_before);
        !item.is_done && item.available_ms != u64::MAX && !is_behind
    }

    pub(super) fn is_leasable(&self, index: usize, clock_ms: u64) -> bool {
        let item = &self.items[index];
        let is_lost = self.bug == Bug::LeasesDoNotExpire && item.token > 0;
        self.is_head(index) && item.available_ms <= clock_ms && !is_lost
    }

    pub(super) fn begin(&mut self, host: usize, index: usize, clock_ms: u64) {
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

    pub(super) fn renew(&mut self, host: usize, index: usize, token: u64) {
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

    pub(super) fn end(&mut self, host: usize, index: usize, token: u64) {
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
}
