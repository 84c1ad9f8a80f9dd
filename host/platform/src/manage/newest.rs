//! The newest of what lies in the order in which it ended: a run that took long lies before those that began after it.

use std::collections::BTreeMap;

use domain::ids::RunId;
use domain::paging::{Limit, PageInfo};

use crate::paging::{PageOf, Unreadable};

/// A clock of one host may be so far ahead of another's.
const SKEW_MS: u64 = 5_000;

/// Collects a page of runs, newest first.
pub(super) struct Newest<View> {
    limit: usize,
    after: Option<RunId>,
    before: Option<RunId>,
    found: BTreeMap<RunId, View>,
    /// Of all that were added, whatever page they belong to.
    total: usize,
    pub(super) unreadable: Unreadable,
}

// === impl Newest ===

impl<View> Newest<View> {
    /// Of those that began before `after`, and after `before`. `before` alone takes those nearest to it, so that walking back
    /// shows the pages that walking forth showed.
    pub(super) fn new(limit: Limit, after: Option<RunId>, before: Option<RunId>) -> Self {
        let (limit, unreadable) = (limit.get(), Unreadable::default());
        Self { limit, after, before, found: BTreeMap::new(), total: 0, unreadable }
    }

    fn walks_back(&self) -> bool {
        self.before.is_some() && self.after.is_none()
    }

    /// What is there already under this id counts.
    pub(super) fn add(&mut self, id: RunId, view: View) {
        if self.found.contains_key(&id) {
            return;
        }
        self.total += 1;
        let (after, before) = (self.after.as_ref(), self.before.as_ref());
        if after.is_none_or(|after| id < *after) && before.is_none_or(|before| id > *before) {
            self.found.insert(id, view);
        }
        if self.found.len() > self.limit {
            let _ = if self.walks_back() { self.found.pop_last() } else { self.found.pop_first() };
        }
    }

    /// Whether what ended then, or before, can be on the page: it began before it ended.
    pub(super) fn has_room_before(&self, ended_ms: u64) -> bool {
        let is_full = self.found.len() == self.limit && !self.walks_back();
        let oldest = self.found.first_key_value().map(|(id, _)| id).filter(|_| is_full).or(self.before.as_ref());
        let began_ms = oldest.and_then(|id| u64::try_from(id.started_at_ms()).ok());
        began_ms.is_none_or(|began_ms| ended_ms.saturating_add(SKEW_MS) >= began_ms)
    }

    pub(super) fn into_page(self) -> PageOf<View> {
        let cursors: Vec<String> = self.found.keys().rev().map(RunId::to_string).collect();
        let info = self.unreadable.named_in(PageInfo::new(self.total, &cursors));
        PageOf { info, items: self.found.into_values().rev().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_id(began_ms: i64) -> RunId {
        RunId::new(began_ms, "dc_Lku5vR0a", [0; 4])
    }

    fn page(runs: &[(u64, i64)], limit: usize, after: Option<&str>, before: Option<&str>) -> PageOf<i64> {
        let limit = Limit::parse(Some(&limit.into())).unwrap();
        let id = |cursor: &str| RunId::parse(cursor).unwrap();
        let mut newest = Newest::new(limit, after.map(id), before.map(id));
        for (ended_ms, began_ms) in runs {
            if !newest.has_room_before(*ended_ms) {
                break;
            }
            newest.add(run_id(*began_ms), *began_ms);
        }
        newest.into_page()
    }

    /// Every page, one after the other, of runs by when they ended.
    fn pages(runs: &[(u64, i64)], limit: usize) -> Vec<i64> {
        let (mut pages, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = page(runs, limit, after.as_deref(), None);
            after = page.info.end_cursor.clone();
            if after.is_none() {
                break;
            }
            pages.push(page);
        }
        for (shown, next) in pages.iter().zip(pages.iter().skip(1)) {
            let back = page(runs, limit, None, next.info.start_cursor.as_deref());
            assert_eq!(back.items, shown.items, "walking back");
        }
        pages.into_iter().flat_map(|page| page.items).collect()
    }

    #[test]
    fn pages_hold_every_run_once_however_they_overlapped() {
        let newest_first: Vec<i64> = (0..40).rev().map(|number| number * 1000).collect();
        for factor in 1..100_i64 {
            // One begins each second and takes up to a minute.
            let took = |began_ms: i64| (began_ms / 1000 * factor * 7919) % 60_000;
            let mut runs: Vec<_> =
                newest_first.iter().map(|began_ms| ((began_ms + took(*began_ms)) as u64, *began_ms)).collect();
            runs.sort_unstable_by_key(|run| std::cmp::Reverse(*run));

            for limit in [1, 2, 7, 40] {
                assert_eq!(pages(&runs, limit), newest_first, "{factor}, {limit} a page");
            }
        }
    }

    #[test]
    fn a_page_between_two_runs_begins_with_the_newer_one() {
        let runs: Vec<_> = (0..6_i64).rev().map(|began_ms| (began_ms as u64, began_ms)).collect();
        let (after, before) = (run_id(5).to_string(), run_id(1).to_string());

        assert_eq!(page(&runs, 2, Some(&after), Some(&before)).items, [4, 3]);
        assert_eq!(page(&runs, 9, Some(&after), Some(&before)).items, [4, 3, 2]);
        assert_eq!(page(&runs, 9, None, Some(&run_id(5).to_string())).items, [0; 0]);
    }

    #[test]
    fn all_are_counted_and_what_is_there_twice_once() {
        let mut newest = Newest::new(Limit::parse(Some(&1.into())).unwrap(), None, None);

        for began_ms in [3, 1, 2, 3] {
            newest.add(run_id(began_ms), began_ms);
        }

        let page = newest.into_page();
        assert_eq!((page.items, page.info.total_count), (vec![3], 3));
    }
}
