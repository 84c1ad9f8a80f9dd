//! A map that a batch changes on trial: what it wrote counts for itself at once, and for others when it is kept.

use std::collections::HashMap;
use std::hash::Hash;

pub(super) struct Layered<Key, Value> {
    kept: HashMap<Key, Value>,
    tried: HashMap<Key, Value>,
    /// What differs from what was loaded.
    changed: Vec<Key>,
}

impl<Key, Value> Default for Layered<Key, Value> {
    fn default() -> Self {
        Self { kept: HashMap::new(), tried: HashMap::new(), changed: Vec::new() }
    }
}

impl<Key: Eq + Hash + Clone, Value> Layered<Key, Value> {
    /// As it is in the database.
    pub(super) fn load(&mut self, key: Key, value: Value) {
        self.kept.insert(key, value);
    }

    /// Loaded with this unless it is there.
    pub(super) fn need(&mut self, key: Key, value: Value) {
        self.kept.entry(key).or_insert(value);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.kept.keys()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.tried.get(key).or_else(|| self.kept.get(key))
    }

    pub(super) fn set(&mut self, key: Key, value: Value) {
        self.tried.insert(key, value);
    }

    /// What was tried, with what it would replace.
    pub(super) fn trials(&self) -> impl Iterator<Item = (&Key, Option<&Value>, &Value)> {
        self.tried.iter().map(|(key, value)| (key, self.kept.get(key), value))
    }

    pub(super) fn keep(&mut self) {
        for (key, value) in self.tried.drain() {
            self.changed.push(key.clone());
            self.kept.insert(key, value);
        }
    }

    pub(super) fn forget(&mut self) {
        self.tried.clear();
    }

    /// Each once.
    pub(super) fn take_changed(&mut self) -> Vec<Key> {
        let mut seen = std::collections::HashSet::new();
        std::mem::take(&mut self.changed).into_iter().filter(|key| seen.insert(key.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Layered;

    #[test]
    fn what_was_tried_is_kept_or_forgotten() {
        let mut map = Layered::default();
        map.load("a", 1);
        map.need("a", 9);
        map.need("b", 2);

        map.set("a", 5);
        assert_eq!((map.get(&"a"), map.get(&"b"), map.get(&"c")), (Some(&5), Some(&2), None));
        map.forget();
        assert_eq!((map.get(&"a").copied(), map.take_changed()), (Some(1), vec![]));

        map.set("b", 6);
        map.keep();
        map.set("b", 7);
        map.keep();
        assert_eq!((map.get(&"b").copied(), map.take_changed(), map.take_changed()), (Some(7), vec!["b"], vec![]));
    }
}
