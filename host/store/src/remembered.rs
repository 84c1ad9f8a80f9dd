//! Records that a shared server is asked for again and again, held here as long as it has not said that they changed.
//!
//! A connection that broke may have missed that, so then everything is forgotten; and whatever happens, nothing is held for longer than a
//! second.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{HashMap, Record};

/// How old a record may be when no message came, because a connection hangs.
const HELD_FOR: Duration = Duration::from_secs(1);
/// Of all records that are held; what is dropped is read again.
const HELD_BYTES: usize = 16 << 20;
/// What an entry takes besides its key and value, roughly.
const ENTRY_BYTES: usize = 128;

#[derive(Default)]
pub(crate) struct Remembered {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HashMap<String, Held>,
    reads: u64,
    bytes: usize,
}

enum Held {
    /// Being read; gone when the key changed meanwhile.
    Reading(u64),
    Known {
        read: Instant,
        record: Option<Record>,
    },
}

// === impl Remembered ===

impl Remembered {
    /// What is known of the record at a key: that it is not there, too.
    pub(crate) fn get(&self, key: &str, now: Instant) -> Option<Option<Record>> {
        match self.lock().held.get(key)? {
            Held::Known { read, record } if now.saturating_duration_since(*read) < HELD_FOR => Some(record.clone()),
            _ => None,
        }
    }

    /// Before a read is sent: its number, for [`Self::keep`].
    pub(crate) fn begin(&self, key: &str) -> u64 {
        let mut state = self.lock();
        state.reads += 1;
        let read = state.reads;
        state.hold(key, Held::Reading(read));
        read
    }

    /// After it was answered. `read` is when it was sent: not kept when the key changed since, or is being read again.
    pub(crate) fn keep(&self, key: &str, number: u64, (read, record): (Instant, &Option<Record>)) {
        let mut state = self.lock();
        if matches!(state.held.get(key), Some(Held::Reading(reading)) if *reading == number) {
            state.hold(key, Held::Known { read, record: record.clone() });
        }
    }

    pub(crate) fn forget<'key>(&self, keys: impl Iterator<Item = &'key str>) {
        let mut state = self.lock();
        keys.for_each(|key| state.remove(key));
    }

    /// Something may have changed of which nothing was heard.
    pub(crate) fn forget_all(&self) {
        self.lock().drop_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// In the place of what is there. When there is no room for it everything else is dropped.
    fn hold(&mut self, key: &str, held: Held) {
        self.remove(key);
        let bytes = bytes_of(key, &held);
        if self.bytes + bytes > HELD_BYTES {
            self.drop_all();
        }
        self.bytes += bytes;
        self.held.insert(key.to_owned(), held);
    }

    fn remove(&mut self, key: &str) {
        if let Some(removed) = self.held.remove(key) {
            self.bytes -= bytes_of(key, &removed);
        }
    }

    fn drop_all(&mut self) {
        self.held.clear();
        self.bytes = 0;
    }
}

fn bytes_of(key: &str, held: &Held) -> usize {
    let value = match held {
        Held::Known { record: Some(record), .. } => record.value.len(),
        _ => 0,
    };
    ENTRY_BYTES + key.len() + value
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bytes::Bytes;

    use super::{ENTRY_BYTES, HELD_BYTES, HELD_FOR, Remembered};
    use crate::Record;

    fn forget(remembered: &Remembered, key: &str) {
        remembered.forget(std::iter::once(key));
    }

    #[test]
    fn a_record_is_known_until_it_changes_or_a_second_has_passed() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        let read = || remembered.keep("k", remembered.begin("k"), (now, &None));

        read();
        assert_eq!(remembered.get("k", now), Some(None));
        assert_eq!(remembered.get("k", now + HELD_FOR - Duration::from_millis(1)), Some(None));
        assert_eq!(remembered.get("k", now + HELD_FOR), None);
        for happens in [|remembered: &Remembered| forget(remembered, "k"), Remembered::forget_all] {
            read();
            forget(&remembered, "other");
            assert_eq!(remembered.get("k", now), Some(None));
            happens(&remembered);
            assert_eq!(remembered.get("k", now), None);
        }
    }

    #[test]
    fn what_changed_while_it_was_read_is_not_kept() {
        let (remembered, now) = (Remembered::default(), Instant::now());

        let read = remembered.begin("k");
        forget(&remembered, "k");
        remembered.keep("k", read, (now, &None));
        assert_eq!(remembered.get("k", now), None);
        let (first, second) = (remembered.begin("k"), remembered.begin("k"));
        remembered.keep("k", first, (now, &None));
        assert_eq!(remembered.get("k", now), None, "a later read is under way");
        remembered.keep("k", second, (now, &None));
        assert_eq!(remembered.get("k", now), Some(None));
    }

    #[test]
    fn as_many_bytes_are_held_as_may_be() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        let (each, key) = (1 << 20, |number: usize| format!("{number:04}"));
        let value = Bytes::from(vec![0; each - ENTRY_BYTES - key(0).len()]);
        let record = Some(Record { id: String::new(), alias: None, version: 1, position: 1, value });
        let read = |number| remembered.keep(&key(number), remembered.begin(&key(number)), (now, &record));
        let size = || {
            let state = remembered.lock();
            (state.held.len(), state.bytes)
        };

        (0..HELD_BYTES / each).for_each(read);
        assert_eq!(size(), (16, HELD_BYTES));
        read(3);
        assert_eq!(size(), (16, HELD_BYTES), "in its own place");
        read(16);
        assert_eq!(size(), (1, each), "one more drops the others");
        forget(&remembered, &key(16));
        assert_eq!(size(), (0, 0));
    }
}
