//! Which lane a queued run waits in: one with the fewest runs, as far as this host knows.
//!
//! The bound on runs at once rests on the lanes alone, which hold on all hosts; what is counted here decides how well they are
//! used. It is forgotten with the process, and then every lane counts as free. Where hosts share a store each sees only a part
//! of what ends, so that nothing is taken off and lanes are used in turn. A run stays in its lane: it does not change to one that
//! becomes free later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::WorkflowId;

/// Workflows whose lanes are counted; beyond them counting begins anew.
const WORKFLOWS_HELD: usize = 4096;

/// By workflow: how many runs are in each of its lanes.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Vec<u32>>>);

/// A place in a lane, given up unless it is taken.
pub(crate) struct Place {
    lanes: Arc<Lanes>,
    lane: String,
    is_taken: bool,
}

// === impl Lanes ===

impl Lanes {
    /// `chance` decides among lanes with as few runs.
    pub(super) fn enter(self: &Arc<Self>, workflow: &WorkflowId, concurrency: u32, chance: u32) -> Place {
        let lanes = usize::try_from(concurrency.max(1)).unwrap_or(1);
        let first = usize::try_from(chance).unwrap_or_default();
        let mut held = self.lock();
        if held.len() >= WORKFLOWS_HELD && !held.contains_key(workflow.as_str()) {
            held.clear();
        }
        let runs = held.entry(workflow.to_string()).or_default();
        runs.resize(lanes, 0);
        let in_turn = (0..lanes).map(|lane| (first.wrapping_add(lane)) % lanes);
        let lane = in_turn.min_by_key(|lane| runs.get(*lane).copied()).unwrap_or_default();
        if let Some(runs) = runs.get_mut(lane) {
            *runs = runs.saturating_add(1);
        }
        drop(held);
        Place { lanes: self.clone(), lane: format!("runs/{workflow}/{lane}"), is_taken: false }
    }

    /// A run no longer is in its lane.
    pub(crate) fn leave(&self, lane: &str) {
        let parts = lane.strip_prefix("runs/").and_then(|lane| lane.rsplit_once('/'));
        let Some((workflow, lane)) = parts else { return };
        let mut held = self.lock();
        let Some(runs) = held.get_mut(workflow) else { return };
        if let Some(runs) = lane.parse::<usize>().ok().and_then(|lane| runs.get_mut(lane)) {
            *runs = runs.saturating_sub(1);
        }
        if runs.iter().all(|runs| *runs == 0) {
            held.remove(workflow);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Place {
    pub(super) fn lane(&self) -> &str {
        &self.lane
    }

    /// Its job is committed.
    pub(super) fn take(&mut self) {
        self.is_taken = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_taken {
            self.lanes.leave(&self.lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use domain::ids::WorkflowId;

    use super::{Lanes, WORKFLOWS_HELD};

    fn workflow(number: u32) -> WorkflowId {
        let mut random = [0; 16];
        random[..4].copy_from_slice(&number.to_le_bytes());
        WorkflowId::from_random(random)
    }

    #[test]
    fn runs_are_in_as_many_lanes_as_there_may_be_and_the_next_takes_a_free_one() {
        let (lanes, workflow) = (Arc::<Lanes>::default(), workflow(1));
        let enter = |chance: u32| {
            let mut place = lanes.enter(&workflow, 3, chance);
            place.take();
            place.lane().to_owned()
        };

        let taken: Vec<String> = (0..6).map(|chance| enter(chance * 7)).collect();
        assert_eq!(taken[..3].iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(taken[3..].iter().collect::<BTreeSet<_>>().len(), 3);

        lanes.leave(&taken[1]);
        drop(lanes.enter(&workflow, 3, 5));
        assert_eq!(enter(2), taken[1]);
        for lane in &taken {
            lanes.leave(lane);
        }
        assert!(lanes.lock().is_empty());
    }

    #[test]
    fn what_is_counted_is_bounded() {
        let lanes = Arc::<Lanes>::default();
        for number in 0..=u32::try_from(WORKFLOWS_HELD).unwrap() {
            lanes.enter(&workflow(number), 2, number).take();
        }

        assert_eq!(lanes.lock().len(), 1);
    }
}
