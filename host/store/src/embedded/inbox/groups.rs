//! What the next group has of the requests that wait.
//!
//! All requests of a group wait for its one fsync, and those that come later for the group that is being written. So a group
//! takes a bounded weight from one tenant: one whose runs cause thousands of operations queues behind itself. Tenants with
//! little to write come before it, in a group of their own, every other time at most. A tenant that is alone has larger
//! groups, because they are cheaper.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Bounds, Weighed};

/// So many groups of one tenant, a moment under load, make it alone.
pub(super) const ALONE_AFTER: u32 = 64;

/// Remembers of the last groups what the next one depends on.
#[derive(Default)]
pub(super) struct Groups {
    company: Company,
    /// The last group was of light tenants, and others were left.
    was_light: bool,
}

/// Who was in the last groups.
#[derive(Default)]
struct Company {
    tenant: Option<String>,
    /// Groups since there was another.
    alone: u32,
}

// === impl Groups ===

impl Groups {
    /// The tenant that is alone.
    pub(super) fn alone(&self) -> Option<&str> {
        self.company.tenant.as_deref().filter(|_| self.company.is_alone())
    }

    pub(super) fn take<Request: Weighed>(
        &mut self,
        waiting: &mut VecDeque<Request>,
        bounds: &Bounds,
        group: &mut VecDeque<Request>,
    ) {
        let max_weight = if self.company.is_alone() { bounds.max_lone_weight } else { bounds.max_tenant_weight };
        if waiting.len() <= bounds.max_group && weigh(waiting) <= bounds.light_weight {
            // The common case: nothing that others would have to wait for.
            group.extend(waiting.drain(..));
            self.was_light = false;
        } else {
            self.was_light = !self.was_light && take_light(waiting, bounds, group);
            if !self.was_light {
                take_shares(waiting, bounds, max_weight, group);
            }
        }
        self.company.note(group.iter().filter_map(Weighed::tenant));
    }
}

// === impl Company ===

impl Company {
    fn is_alone(&self) -> bool {
        self.alone >= ALONE_AFTER
    }

    fn note<'a>(&mut self, tenants: impl Iterator<Item = &'a str>) {
        self.alone = self.alone.saturating_add(1);
        for tenant in tenants {
            if self.tenant.as_deref() != Some(tenant) {
                *self = Self { tenant: Some(tenant.to_owned()), alone: 0 };
            }
        }
    }
}

fn weigh<Request: Weighed>(requests: &VecDeque<Request>) -> usize {
    requests.iter().map(Weighed::weight).sum()
}

/// Moves the requests of tenants with little to write into the group, and with them those that have no tenant. Returns false
/// when all tenants have little to write, or all have much.
fn take_light<Request: Weighed>(
    waiting: &mut VecDeque<Request>,
    bounds: &Bounds,
    group: &mut VecDeque<Request>,
) -> bool {
    let mut weights: HashMap<&str, usize> = HashMap::new();
    for request in waiting.iter() {
        if let Some(tenant) = request.tenant() {
            *weights.entry(tenant).or_default() += request.weight();
        }
    }
    let tenants = weights.len();
    let heavy = weights.into_iter().filter(|(_, weight)| *weight > bounds.light_weight);
    let heavy: HashSet<String> = heavy.map(|(tenant, _)| tenant.to_owned()).collect();
    if heavy.is_empty() || heavy.len() == tenants {
        return false;
    }
    let is_light = |request: &Request| request.tenant().is_none_or(|tenant| !heavy.contains(tenant));
    move_into(group, waiting, bounds, is_light);
    true
}

/// Moves requests into the group, at most its share for each tenant. The rest keep their order.
fn take_shares<Request: Weighed>(
    waiting: &mut VecDeque<Request>,
    bounds: &Bounds,
    max_weight: usize,
    group: &mut VecDeque<Request>,
) {
    let mut weights: HashMap<String, usize> = HashMap::new();
    let has_share = |request: &Request| {
        let Some(tenant) = request.tenant() else { return true };
        let Some(weight) = weights.get_mut(tenant) else {
            weights.insert(tenant.to_owned(), request.weight());
            return true;
        };
        // Added even when over: a later, lighter request must not overtake one of the same tenant that was left.
        *weight = weight.saturating_add(request.weight());
        *weight <= max_weight
    };
    move_into(group, waiting, bounds, has_share);
}

/// What is chosen, in its order, up to the bound of a group.
fn move_into<Request>(
    group: &mut VecDeque<Request>,
    waiting: &mut VecDeque<Request>,
    bounds: &Bounds,
    mut is_chosen: impl FnMut(&Request) -> bool,
) {
    let mut left = VecDeque::with_capacity(bounds.capacity);
    let mut room = bounds.max_group;
    for request in waiting.drain(..) {
        if room > 0 && is_chosen(&request) {
            group.push_back(request);
            room -= 1;
        } else {
            left.push_back(request);
        }
    }
    *waiting = left;
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::tests::WIDE;
    use super::{ALONE_AFTER, Bounds, Groups};

    type Request = (&'static str, usize);

    /// In groups, until nothing waits.
    fn groups(requests: impl Into<VecDeque<Request>>, bounds: &Bounds) -> Vec<Vec<Request>> {
        let (mut waiting, mut groups) = (requests.into(), Groups::default());
        let next = || {
            let mut group = VecDeque::new();
            groups.take(&mut waiting, bounds, &mut group);
            (!group.is_empty()).then(|| group.into())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_tenant_has_its_share_of_a_group_and_queues_behind_itself() {
        let bounds = Bounds { max_tenant_weight: 10, light_weight: 0, ..WIDE };
        let requests = [("a", 6), ("a", 4), ("a", 1), ("b", 50), ("c", 1), ("a", 0), ("b", 1), ("c", 9)];

        let groups = groups(requests, &bounds);

        assert_eq!(
            groups,
            [vec![("a", 6), ("a", 4), ("b", 50), ("c", 1), ("c", 9)], vec![("a", 1), ("a", 0), ("b", 1)]]
        );
    }

    #[test]
    fn tenants_with_little_to_write_come_before_one_with_much() {
        let bounds = Bounds { max_tenant_weight: 20, light_weight: 10, ..WIDE };

        let requests = [("much", 11), ("little", 6), ("", 1), ("much", 9), ("little", 4), ("other", 10)];
        let light = vec![("little", 6), ("", 1), ("little", 4), ("other", 10)];
        assert_eq!(groups(requests, &bounds), [light, vec![("much", 11), ("much", 9)]]);
        assert_eq!(groups([("a", 9), ("b", 9), ("c", 9)], &bounds).len(), 1, "all have little to write");
        assert_eq!(groups([("a", 11), ("b", 11)], &bounds).len(), 1, "all have much");
        assert_eq!(groups([("a", 5), ("b", 5)], &bounds).len(), 1, "none has to wait");
    }

    #[test]
    fn every_other_group_is_for_all() {
        let bounds = Bounds { light_weight: 10, ..WIDE };
        let (mut waiting, mut groups) = (VecDeque::new(), Groups::default());

        let mut waited = 0;
        for _ in 0..6 {
            waiting.extend([("little", 1), ("much", 100)]);
            let mut group = VecDeque::new();
            groups.take(&mut waiting, &bounds, &mut group);
            waited = if group.contains(&("much", 100)) { 0 } else { waited + 1 };
            assert!(group.contains(&("little", 1)) && waited < 2);
        }
    }

    #[test]
    fn a_tenant_is_alone_after_some_groups_and_until_there_is_another() {
        let bounds = Bounds { max_tenant_weight: 10, max_lone_weight: 20, light_weight: 0, ..WIDE };
        let mut groups = Groups::default();
        let mut taken = |requests: &[Request]| {
            let (mut waiting, mut group) = (requests.iter().copied().collect(), VecDeque::new());
            groups.take(&mut waiting, &bounds, &mut group);
            (group.len(), groups.alone().is_none())
        };
        let three = [("a", 10), ("a", 10), ("a", 10)];

        for group in 0..=ALONE_AFTER {
            assert_eq!(taken(&three), (1, group < ALONE_AFTER));
        }
        assert_eq!(taken(&three), (2, false));
        assert_eq!(taken(&[("", 1)]), (1, false), "leases have no tenant");
        assert_eq!(taken(&[("a", 1), ("b", 1)]), (2, true));
        assert_eq!(taken(&three), (1, true));
    }
}
