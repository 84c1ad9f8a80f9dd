//! The channels of a source: a bounded number, because each is a stream of its own with its own row, count and retention.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::Tenant;

use crate::records::names;
use crate::{Error, Platform};

/// Names held at once, of all sources; what is dropped is read again.
const NAMES_HELD: usize = 100_000;

/// What is known of the channels that sources have.
#[derive(Default)]
pub(crate) struct Channels {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_source: HashMap<(Tenant, String), HashSet<String>>,
    names: usize,
}

// === impl Channels ===

impl Channels {
    /// Those of `wanted` that would be too many for the source.
    pub(crate) async fn beyond_limit<'a>(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        source: &str,
        wanted: impl Iterator<Item = &'a str>,
    ) -> Result<HashSet<&'a str>, Error> {
        let key = (tenant.clone(), source.to_owned());
        let mut unknown: Vec<&str> = {
            let known = self.lock();
            let of_source = known.by_source.get(&key);
            wanted.filter(|name| !of_source.is_some_and(|names| names.contains(*name))).collect()
        };
        if unknown.is_empty() {
            return Ok(HashSet::new());
        }
        let streams = platform.store.streams(tenant, source).await?;
        let is_own = |name: &str| [names::DEFAULT, names::ERRORS, names::LOGS, names::RUNS].contains(&name);
        let mut has: HashSet<String> =
            streams.into_iter().map(|stream| stream.name).filter(|name| !is_own(name)).collect();
        unknown.dedup();
        let mut beyond = HashSet::new();
        for name in unknown {
            if has.contains(name) {
                continue;
            }
            if has.len() < platform.config.limits.channels_per_source {
                has.insert(name.to_owned());
            } else {
                beyond.insert(name);
            }
        }
        self.lock().hold(key, has);
        Ok(beyond)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Known ===

impl Known {
    fn hold(&mut self, key: (Tenant, String), names: HashSet<String>) {
        if self.names + names.len() > NAMES_HELD {
            self.by_source.clear();
            self.names = 0;
        }
        self.names += names.len();
        let before = self.by_source.insert(key, names);
        self.names -= before.map_or(0, |names| names.len());
    }
}
