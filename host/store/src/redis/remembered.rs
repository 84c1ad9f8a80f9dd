//! Records that the server is asked for again and again, held here as long as it has not said that they changed.
//!
//! A read is sent with `CLIENT CACHING YES`: the server remembers that this connection has read the key, and says on the same
//! connection when it changes, whichever host changed it. A connection that broke may have missed that, so then everything is read
//! again; and whatever happens, nothing is held for longer than a second.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::redis::{PushInfo, PushKind, Value, from_redis_value};

use crate::{HashMap, Record};

/// How old a record may be when no message came, because a connection hangs.
const HELD_FOR: Duration = Duration::from_secs(1);
/// Records held at once; what is dropped is read again.
const HELD: usize = 16_384;

#[derive(Default)]
pub(super) struct Remembered {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HashMap<String, Held>,
    reads: u64,
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
    pub(super) fn get(&self, key: &str, now: Instant) -> Option<Option<Record>> {
        match self.lock().held.get(key)? {
            Held::Known { read, record } if now.saturating_duration_since(*read) < HELD_FOR => Some(record.clone()),
            _ => None,
        }
    }

    /// Before a read is sent: its number, for [`Self::keep`].
    pub(super) fn begin(&self, key: &str) -> u64 {
        let mut state = self.lock();
        if state.held.len() >= HELD {
            state.held.clear();
        }
        state.reads += 1;
        let read = state.reads;
        state.held.insert(key.to_owned(), Held::Reading(read));
        read
    }

    /// After it was answered. `read` is when it was sent: not kept when the key changed since, or is being read again.
    pub(super) fn keep(&self, key: &str, number: u64, (read, record): (Instant, &Option<Record>)) {
        let mut state = self.lock();
        if let Some(held) =
            state.held.get_mut(key).filter(|held| matches!(held, Held::Reading(read) if *read == number))
        {
            *held = Held::Known { read, record: record.clone() };
        }
    }

    pub(super) fn forget<'key>(&self, keys: impl Iterator<Item = &'key str>) {
        let mut state = self.lock();
        for key in keys {
            state.held.remove(key);
        }
    }

    /// Takes in what the server says.
    pub(super) fn hear(&self, message: &PushInfo) {
        match (&message.kind, message.data.first()) {
            (PushKind::Invalidate, Some(Value::Array(keys))) => {
                let keys: Vec<String> =
                    keys.iter().filter_map(|key| from_redis_value::<String>(key.clone()).ok()).collect();
                self.forget(keys.iter().map(String::as_str));
            }
            // Everything was flushed, or messages may have been missed.
            (PushKind::Invalidate | PushKind::Disconnection, _) => self.lock().held.clear(),
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ::redis::{PushInfo, PushKind, Value};

    use super::{HELD, HELD_FOR, Remembered};

    fn changed(key: &str) -> PushInfo {
        let keys = Value::Array(vec![Value::BulkString(key.as_bytes().to_vec())]);
        PushInfo { kind: PushKind::Invalidate, data: vec![keys] }
    }

    #[test]
    fn a_record_is_known_until_it_changes_or_a_second_has_passed() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        let read = || remembered.keep("k", remembered.begin("k"), (now, &None));

        read();
        assert_eq!(remembered.get("k", now), Some(None));
        assert_eq!(remembered.get("k", now + HELD_FOR - Duration::from_millis(1)), Some(None));
        assert_eq!(remembered.get("k", now + HELD_FOR), None);
        for message in [changed("k"), PushInfo { kind: PushKind::Disconnection, data: vec![] }] {
            read();
            remembered.hear(&changed("other"));
            assert_eq!(remembered.get("k", now), Some(None));
            remembered.hear(&message);
            assert_eq!(remembered.get("k", now), None, "{message:?}");
        }
    }

    #[test]
    fn what_changed_while_it_was_read_is_not_kept() {
        let (remembered, now) = (Remembered::default(), Instant::now());

        let read = remembered.begin("k");
        remembered.hear(&changed("k"));
        remembered.keep("k", read, (now, &None));
        assert_eq!(remembered.get("k", now), None);
        let (first, second) = (remembered.begin("k"), remembered.begin("k"));
        remembered.keep("k", first, (now, &None));
        assert_eq!(remembered.get("k", now), None, "a later read is under way");
        remembered.keep("k", second, (now, &None));
        assert_eq!(remembered.get("k", now), Some(None));
    }

    #[test]
    fn only_so_many_are_held() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        for number in 0..=HELD {
            let key = number.to_string();
            remembered.keep(&key, remembered.begin(&key), (now, &None));
        }
        assert!(remembered.lock().held.len() <= HELD);
    }
}
