//! Room for readers: so many in all, and fewer for one account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub(super) struct Places {
    taken: Arc<Mutex<Taken>>,
    most: usize,
    most_per_account: usize,
}

/// Given back when it is dropped.
pub(super) struct Place {
    taken: Arc<Mutex<Taken>>,
    account: String,
}

/// Where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    Host,
    Account,
}

#[derive(Default)]
struct Taken {
    count: usize,
    by_account: HashMap<String, usize>,
}

// === impl Places ===

impl Places {
    pub(super) fn new(most: usize, most_per_account: usize) -> Self {
        Self { taken: Arc::default(), most, most_per_account }
    }

    pub(super) fn take(&self, account: &str) -> Result<Place, Full> {
        let mut taken = lock(&self.taken);
        if taken.by_account.get(account).is_some_and(|count| *count >= self.most_per_account) {
            return Err(Full::Account);
        }
        if taken.count >= self.most {
            return Err(Full::Host);
        }
        taken.count += 1;
        *taken.by_account.entry(account.to_owned()).or_default() += 1;
        Ok(Place { taken: self.taken.clone(), account: account.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.count -= 1;
        if let Some(count) = taken.by_account.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                taken.by_account.remove(&self.account);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
