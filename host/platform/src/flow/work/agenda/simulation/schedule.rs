//! A schedule: hosts, work and what goes wrong, made from a seed.

use store::{Partition, Sharing};

use super::{Bug, CALM_MS, Event, HostModel, Item, START_MS, Simulation};
use crate::flow::work::agenda::Agenda;
use crate::hosts::{BEAT_MS, preferred};

impl Simulation {
    pub(super) fn set_up(&mut self) {
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
}
