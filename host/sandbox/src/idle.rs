//! What is lent again and again: to the thread that gave it back last, if it can be, because the caches of its processor still
//! hold what was written there.

use std::thread::{self, ThreadId};

pub(crate) struct Idle<T>(Vec<(ThreadId, T)>);

// === impl Idle ===

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Idle<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn give_back(&mut self, item: T) {
        self.0.push((thread::current().id(), item));
    }

    /// The last that fits and that this thread gave back; or else the last that fits.
    pub(crate) fn take(&mut self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let here = thread::current().id();
        let own = self.0.iter().rposition(|(thread, item)| *thread == here && fits(item));
        let at = own.or_else(|| self.0.iter().rposition(|(_, item)| fits(item)))?;
        Some(self.0.remove(at).1)
    }

    /// The one that was given back first.
    pub(crate) fn take_oldest(&mut self) -> Option<T> {
        (!self.0.is_empty()).then(|| self.0.remove(0).1)
    }

    /// All that fit, out of the pool.
    pub(crate) fn extract(&mut self, mut fits: impl FnMut(&T) -> bool) -> Vec<T> {
        self.0.extract_if(.., |(_, item)| fits(item)).map(|(_, item)| item).collect()
    }

    #[cfg(test)]
    pub(crate) fn first(&mut self) -> Option<&mut T> {
        self.0.first_mut().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::Idle;

    #[test]
    fn a_thread_is_lent_what_it_gave_back_last_and_then_what_others_did() {
        let mut idle = Idle::default();
        [1, 2].into_iter().for_each(|item| idle.give_back(item));
        std::thread::scope(|scope| {
            scope.spawn(|| [3, 5].into_iter().for_each(|item| idle.give_back(item)));
        });

        let taken: Vec<_> = std::iter::from_fn(|| idle.take(|item| *item != 5)).collect();

        assert_eq!(taken, [2, 1, 3]);
        assert_eq!((idle.take_oldest(), idle.take_oldest()), (Some(5), None));
    }
}
