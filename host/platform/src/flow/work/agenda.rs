//! When to ask which partition for work. Pure: time and what was heard are passed in.
//!
//! The rules, and what each is for:
//! - A host looks at once for work that it committed itself, so the usual job is done where it came up, and no other host
//!   asks for it.
//! - Work that is due later is looked for by one host of all, which the partition prefers; the others look a moment later,
//!   in case it is gone or has no room.
//! - Now and then a host looks for itself, because pulses are best effort: at all partitions where that is one round trip,
//!   at one of them where each is its own.
//! - A partition that could not be asked is asked again a second later, and holds up no other. It is only looked at then, and
//!   leased from a second after that: leases may have run out while the store was away, and their holders renew them first.

use store::{Looked, Next, Origin, Partition, Sharing, Wakes};

/// How often a host looks for itself, alone on its store and with others.
const ALONE_LOOK_MS: u64 = 1000;
const SHARED_LOOK_MS: u64 = 3000;
/// How much later hosts look that a partition does not prefer.
const LATER_MS: u64 = 1000;
const FAILED_LOOK_MS: u64 = 1000;
/// How long holders have to renew leases once the store is back: a renewal that failed is tried again within 0.7 s.
const RENEW_FIRST_MS: u64 = 1000;
/// So soon it is not worth waiting for another host.
const SOON_MS: u64 = 200;

/// Which partitions to ask.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) to_lease: Vec<Partition>,
    /// To look at without leasing anything.
    pub(crate) to_look_at: Vec<Partition>,
}

#[derive(Debug, Clone)]
pub(crate) struct Agenda {
    sharing: Sharing,
    partitions: Vec<Entry>,
    look_ms: u64,
    /// Where the next look for itself goes, when it goes to one partition.
    turn: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    partition: Partition,
    look_ms: Option<u64>,
    is_preferred: bool,
    /// It could not be asked, and was not since.
    was_away: bool,
    /// Until then holders renew their leases.
    lease_from_ms: u64,
}

// === impl Agenda ===

impl Agenda {
    /// Looks at everything first: work may have waited for this host.
    pub(crate) fn new(sharing: Sharing, partitions: Vec<Partition>, now_ms: u64) -> Self {
        let entry = |partition| Entry {
            partition,
            look_ms: Some(now_ms),
            is_preferred: true,
            was_away: false,
            lease_from_ms: 0,
        };
        let partitions = partitions.into_iter().map(entry).collect();
        Self { sharing, partitions, look_ms: now_ms.saturating_add(SHARED_LOOK_MS), turn: 0 }
    }

    /// The partitions that prefer this host, when that has changed.
    pub(crate) fn prefer(&mut self, is_preferred: impl Fn(Partition) -> bool) {
        for entry in &mut self.partitions {
            entry.is_preferred = is_preferred(entry.partition);
        }
    }

    pub(crate) fn hear(&mut self, now_ms: u64, wakes: &Wakes) {
        if wakes.was_away {
            self.partitions.iter_mut().for_each(|entry| entry.was_away = true);
        }
        if wakes.anywhere {
            self.partitions.iter_mut().for_each(|entry| entry.look_by(now_ms));
        }
        for wake in &wakes.partitions {
            let Some(entry) = self.entry(wake.partition) else { continue };
            let at_ms = match wake.origin {
                Origin::Busy => wake.due_ms.max(now_ms),
                Origin::Here | Origin::There => entry.turn_ms(wake.due_ms, now_ms),
            };
            entry.look_by(at_ms);
        }
    }

    /// What a look told.
    pub(crate) fn note(&mut self, now_ms: u64, looked: &[Looked]) {
        for Looked { partition, next } in looked {
            let Some(entry) = self.entry(*partition) else { continue };
            if entry.was_away && matches!(next, Next::Due(_)) {
                entry.was_away = false;
                entry.lease_from_ms = now_ms.saturating_add(RENEW_FIRST_MS);
                entry.look_ms = Some(entry.lease_from_ms);
                continue;
            }
            entry.was_away |= *next == Next::Failed;
            entry.look_ms = match next {
                Next::Due(due_ms) => due_ms.map(|due_ms| entry.turn_ms(due_ms, now_ms)),
                Next::NotAsked => Some(now_ms),
                Next::Failed => Some(now_ms.saturating_add(FAILED_LOOK_MS)),
            };
        }
    }

    /// Nothing could be asked.
    pub(crate) fn fail(&mut self, now_ms: u64, asked: &[Partition]) {
        let failed = |partition: &Partition| Looked { partition: *partition, next: Next::Failed };
        self.note(now_ms, &asked.iter().map(failed).collect::<Vec<_>>());
    }

    /// The partitions to ask now.
    pub(crate) fn due(&mut self, now_ms: u64) -> Asked {
        if now_ms >= self.look_ms {
            self.look_for_itself(now_ms);
        }
        let mut asked = Asked::default();
        for entry in self.partitions.iter().filter(|entry| entry.look_ms.is_some_and(|at_ms| at_ms <= now_ms)) {
            let list = if entry.was_away { &mut asked.to_look_at } else { &mut asked.to_lease };
            list.push(entry.partition);
        }
        asked
    }

    /// When there is something to ask again, unless a pulse comes first.
    pub(crate) fn next_ms(&self) -> u64 {
        self.partitions.iter().filter_map(|entry| entry.look_ms).fold(self.look_ms, u64::min)
    }

    fn look_for_itself(&mut self, now_ms: u64) {
        let period_ms = if self.sharing == Sharing::Alone { ALONE_LOOK_MS } else { SHARED_LOOK_MS };
        self.look_ms = now_ms.saturating_add(period_ms);
        if self.sharing != Sharing::Cluster {
            return self.partitions.iter_mut().for_each(|entry| entry.look_by(now_ms));
        }
        let turn = self.turn % self.partitions.len().max(1);
        self.turn = turn + 1;
        if let Some(entry) = self.partitions.get_mut(turn) {
            entry.look_by(now_ms);
        }
    }

    fn entry(&mut self, partition: Partition) -> Option<&mut Entry> {
        self.partitions.iter_mut().find(|entry| entry.partition == partition)
    }
}

// === impl Entry ===

impl Entry {
    fn look_by(&mut self, at_ms: u64) {
        let at_ms = if self.was_away { at_ms } else { at_ms.max(self.lease_from_ms) };
        self.look_ms = Some(self.look_ms.map_or(at_ms, |before_ms| before_ms.min(at_ms)));
    }

    /// When this host looks for what is due then.
    fn turn_ms(&self, due_ms: u64, now_ms: u64) -> u64 {
        let is_soon = due_ms <= now_ms.saturating_add(SOON_MS);
        if self.is_preferred || is_soon { due_ms } else { due_ms.saturating_add(LATER_MS) }
    }
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use store::{Looked, Next, Origin, Partition, Sharing, Wake, Wakes};

    use super::{Agenda, Asked, LATER_MS, SHARED_LOOK_MS};

    const START: u64 = 1_000_000;

    fn quiet(sharing: Sharing, count: u16) -> Agenda {
        let mut agenda = Agenda::new(sharing, Partition::all(count), START);
        let asked = agenda.due(START).to_lease;
        assert_eq!(asked.len(), usize::from(count), "everything is looked at first");
        note(&mut agenda, &asked, Next::Due(None));
        agenda
    }

    fn note(agenda: &mut Agenda, partitions: &[Partition], next: Next) {
        let looked = |partition: &Partition| Looked { partition: *partition, next };
        agenda.note(START, &partitions.iter().map(looked).collect::<Vec<_>>());
    }

    fn heard(partition: Partition, due_ms: u64, origin: Origin) -> Wakes {
        Wakes { partitions: vec![Wake { partition, due_ms, origin }], ..Wakes::default() }
    }

    #[test]
    fn a_host_looks_at_once_where_it_committed_work_and_nowhere_else() {
        let mut agenda = quiet(Sharing::Server, 4);
        agenda.prefer(|_| false);
        let third = Partition::all(4)[2];

        agenda.hear(START, &heard(third, START, Origin::Here));

        assert_eq!(agenda.due(START).to_lease, [third]);
    }

    #[test]
    fn work_that_is_due_later_is_looked_for_by_the_preferred_host_first() {
        let (mut preferred, mut other) = (quiet(Sharing::Server, 4), quiet(Sharing::Server, 4));
        let first = Partition::all(4)[0];
        other.prefer(|_| false);
        let due_ms = START + 1500;

        for agenda in [&mut preferred, &mut other] {
            agenda.hear(START, &heard(first, due_ms, Origin::There));
        }

        assert_eq!(preferred.next_ms(), due_ms);
        assert_eq!(other.next_ms(), due_ms + LATER_MS);
        other.note(START, &[Looked { partition: first, next: Next::Due(Some(due_ms)) }]);
        assert_eq!(other.entry(first).unwrap().look_ms, Some(due_ms + LATER_MS));
    }

    #[test]
    fn what_a_busy_host_committed_is_looked_for_at_once() {
        let mut agenda = quiet(Sharing::Server, 4);
        agenda.prefer(|_| false);
        let first = Partition::all(4)[0];

        agenda.hear(START, &heard(first, START - 5, Origin::Busy));

        assert_eq!(agenda.due(START).to_lease, [first]);
    }

    #[test]
    fn an_idle_host_looks_at_all_in_one_round_trip_or_at_one_at_a_time() {
        let (mut server, mut cluster) = (quiet(Sharing::Server, 4), quiet(Sharing::Cluster, 4));
        let later_ms = START + SHARED_LOOK_MS;
        assert_eq!((server.next_ms(), cluster.next_ms()), (later_ms, later_ms));

        assert_eq!(server.due(later_ms).to_lease.len(), 4);
        let mut asked = Vec::new();
        for round in 0..4 {
            let now_ms = later_ms + round * SHARED_LOOK_MS;
            let due = cluster.due(now_ms).to_lease;
            cluster.note(now_ms, &[Looked { partition: due[0], next: Next::Due(None) }]);
            asked.extend(due);
        }
        assert_eq!(asked, Partition::all(4));
    }

    #[test]
    fn a_partition_that_failed_waits_alone() {
        let mut agenda = quiet(Sharing::Cluster, 2);
        let [first, second] = Partition::all(2)[..] else { panic!("two") };

        agenda.fail(START, &[first]);
        agenda.hear(START, &heard(second, START, Origin::Here));

        assert_eq!(agenda.due(START), Asked { to_lease: vec![second], to_look_at: vec![] });
        note(&mut agenda, &[second], Next::NotAsked);
        assert_eq!(agenda.due(START + 1000), Asked { to_lease: vec![second], to_look_at: vec![first] });
        agenda.note(START + 1000, &[Looked { partition: first, next: Next::Due(Some(START)) }]);
        agenda.note(START + 1000, &[Looked { partition: second, next: Next::Due(None) }]);
        assert_eq!(agenda.due(START + 1999), Asked::default(), "holders renew their leases first");
        assert_eq!(agenda.due(START + 2000).to_lease, [first]);
    }
}
