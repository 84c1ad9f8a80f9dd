//! What was read lately, within a bound in bytes. When it is reached everything is dropped: what is used comes back with one read
//! each, and nothing has to be kept in order on the way of every run.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an entry takes besides its value, roughly.
const ENTRY_BYTES: usize = 256;
/// A value of more than this part of the bound is not held: it would mostly drop others.
const LARGEST_PART: usize = 8;

pub(crate) struct Held<Key, Value> {
    limit_bytes: usize,
    state: Mutex<State<Key, Value>>,
}

struct State<Key, Value> {
    entries: HashMap<Key, Entry<Value>>,
    bytes: usize,
}

struct Entry<Value> {
    value: Value,
    bytes: usize,
}

// === impl Held ===

impl<Key: Hash + Eq, Value: Clone> Held<Key, Value> {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, state: Mutex::new(State { entries: HashMap::new(), bytes: 0 }) }
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Value>
    where
        Key: Borrow<Q>,
    {
        self.lock().entries.get(key).map(|entry| entry.value.clone())
    }

    /// Holds a value of about so many bytes.
    pub(crate) fn put(&self, key: Key, value: Value, value_bytes: usize) {
        let bytes = value_bytes.saturating_add(ENTRY_BYTES);
        let mut state = self.lock();
        state.remove(&key);
        if bytes > self.limit_bytes / LARGEST_PART {
            return;
        }
        if state.bytes + bytes > self.limit_bytes {
            state.entries.clear();
            state.bytes = 0;
        }
        state.bytes += bytes;
        state.entries.insert(key, Entry { value, bytes });
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        Key: Borrow<Q>,
    {
        self.lock().remove(key);
    }

    pub(crate) fn remove_where(&self, is_removed: impl Fn(&Key) -> bool) {
        let mut state = self.lock();
        let removed = state.entries.extract_if(|key, _| is_removed(key)).map(|(_, entry)| entry.bytes).sum::<usize>();
        state.bytes -= removed;
    }

    /// How many there are, and about how many bytes they take.
    pub(crate) fn size(&self) -> (Option<u64>, Option<u64>) {
        let state = self.lock();
        (Some(state.entries.len() as u64), Some(state.bytes as u64))
    }

    fn lock(&self) -> MutexGuard<'_, State<Key, Value>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<Key: Hash + Eq, Value> State<Key, Value> {
    fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        Key: Borrow<Q>,
    {
        if let Some(removed) = self.entries.remove(key) {
            self.bytes -= removed.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRY_BYTES, Held, LARGEST_PART};

    const LIMIT: usize = 16 * 1024;
    const EACH: usize = 1024;

    /// As many of a kilobyte as fit.
    fn full() -> Held<usize, usize> {
        let held = Held::new(LIMIT);
        (0..LIMIT / EACH).for_each(|number| held.put(number, number, EACH - ENTRY_BYTES));
        held
    }

    #[test]
    fn as_much_is_held_as_may_be_and_one_more_drops_all_others() {
        let held = full();
        assert_eq!(held.size(), (Some(16), Some(LIMIT as u64)));
        assert_eq!((held.get(&0), held.get(&15), held.get(&16)), (Some(0), Some(15), None));

        held.put(16, 16, 0);

        assert_eq!(held.size(), (Some(1), Some(ENTRY_BYTES as u64)));
        assert_eq!((held.get(&0), held.get(&16)), (None, Some(16)));
    }

    #[test]
    fn what_is_held_anew_or_removed_is_counted_once() {
        let held = full();

        held.put(3, 33, EACH - ENTRY_BYTES);
        assert_eq!((held.get(&3), held.size()), (Some(33), (Some(16), Some(LIMIT as u64))));
        held.remove(&3);
        held.remove(&3);
        held.remove_where(|number| number % 2 == 0);

        assert_eq!(held.size(), (Some(7), Some(7 * EACH as u64)));
    }

    #[test]
    fn a_value_that_would_drop_most_others_is_not_held() {
        let held = full();

        held.put(3, 33, LIMIT / LARGEST_PART - ENTRY_BYTES + 1);

        assert_eq!((held.get(&3), held.get(&4)), (None, Some(4)), "nor what it takes the place of");
        let held = Held::new(LIMIT);
        held.put(3, 33, LIMIT / LARGEST_PART - ENTRY_BYTES);
        assert_eq!(held.get(&3), Some(33));
    }
}
