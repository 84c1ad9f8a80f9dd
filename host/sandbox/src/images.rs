//! Images in memory, within a bound in bytes. What is missing is unpacked from its file or made again, once for all that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lru::LruCache;
use metrics::{CacheUse, Counter, Family, of_caches};
use tokio::sync::{OnceCell, Semaphore};

use crate::slots::{Forgotten, Slots};
use crate::snapshot::Snapshot;

/// Images that are unpacked at once: each takes a core for some milliseconds.
const MOST_UNPACKED: usize = 4;

/// Images in memory: each is a descriptor, of which a process has some thousand unless it is told otherwise.
const MOST_HELD: usize = 512;

/// Names an image: of which program it is, and of which engine.
pub(crate) type Key = [u8; 32];

pub(crate) struct Images<Refusal> {
    held: Mutex<Held>,
    most_bytes: u64,
    flights: Mutex<HashMap<Key, Weak<OnceCell<Settled<Refusal>>>>>,
    /// Taken to unpack one.
    pub(crate) unpacking: Arc<Semaphore>,
    uses: CacheUse,
    pub(crate) built: Counter,
    pub(crate) unpacked: Counter,
    pub(crate) fetched: Counter,
}

/// The image, or why there is none: either way all that waited for it get the same.
pub(crate) type Settled<Refusal> = Result<Arc<Snapshot>, Refusal>;

struct Held {
    by_key: LruCache<Key, Arc<Snapshot>>,
    bytes: u64,
}

/// Images that are held no longer. To drop this is to free their memory, which takes its time: not under a lock, and not while
/// a call waits for another image.
#[must_use = "dropping it takes time"]
#[derive(Default)]
pub(crate) struct Evicted {
    pub(crate) keys: Vec<Key>,
    idle: Vec<Forgotten>,
    snapshots: Vec<Arc<Snapshot>>,
}

/// One image being found or made, and this caller's part in it.
pub(crate) struct Flight<'a, Refusal> {
    images: &'a Images<Refusal>,
    key: Key,
    cell: Arc<OnceCell<Settled<Refusal>>>,
}

// === impl Images ===

impl<Refusal: Clone> Images<Refusal> {
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self {
            held: Mutex::new(Held { by_key: LruCache::unbounded(), bytes: 0 }),
            most_bytes,
            flights: Mutex::default(),
            unpacking: Arc::new(Semaphore::new(MOST_UNPACKED)),
            uses: CacheUse::default(),
            built: Counter::default(),
            unpacked: Counter::default(),
            fetched: Counter::default(),
        }
    }

    /// The image, if it is in memory.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Snapshot>> {
        let held = self.held().by_key.get(key).cloned();
        self.uses.note(held.is_some());
        held
    }

    /// Takes part in finding or making an image that is not in memory.
    pub(crate) fn board(&self, key: Key) -> Flight<'_, Refusal> {
        let mut flights = self.flights();
        let cell = flights.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let cell = Arc::default();
            flights.insert(key, Arc::downgrade(&cell));
            cell
        });
        Flight { images: self, key, cell }
    }

    /// The same without counting a use.
    pub(crate) fn peek(&self, key: &Key) -> Option<Arc<Snapshot>> {
        self.held().by_key.get(key).cloned()
    }

    /// Holds an image, and lets go of those that were unused for longest until there is room. Images that run stay, whatever
    /// they take: their memory would not be freed.
    pub(crate) fn hold(&self, key: Key, snapshot: &Arc<Snapshot>, slots: &Slots) -> Evicted {
        let mut held = self.held();
        let replaced = held.by_key.put(key, snapshot.clone());
        held.bytes += snapshot.memory_bytes() as u64;
        held.bytes -= replaced.as_ref().map_or(0, |replaced| replaced.memory_bytes() as u64);
        let mut evicted = held.evict_until(self.most_bytes, Some(&key), slots);
        drop(held);
        if let Some(replaced) = replaced.filter(|replaced| !Arc::ptr_eq(replaced, snapshot)) {
            evicted.idle.push(slots.forget(&replaced));
            evicted.snapshots.push(replaced);
        }
        evicted
    }

    /// Lets go of images that do not run until no more than so many bytes are held.
    pub(crate) fn shrink(&self, most_bytes: u64, slots: &Slots) -> Evicted {
        self.held().evict_until(most_bytes, None, slots)
    }

    /// An image that nothing will ask for any more. Runs that have it go on.
    pub(crate) fn remove(&self, key: &Key, slots: &Slots) -> bool {
        let mut held = self.held();
        let removed = held.by_key.pop(key);
        held.bytes -= removed.as_ref().map_or(0, |removed| removed.memory_bytes() as u64);
        drop(held);
        if let Some(removed) = &removed {
            drop(slots.forget(removed));
        }
        removed.is_some()
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.held().bytes
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let (entries, bytes) = {
            let held = self.held();
            (held.by_key.len() as u64, held.bytes)
        };
        let mut families = of_caches("images", &self.uses, (Some(entries), Some(bytes)));
        let help = "Images of components that were not in memory: unpacked from their file, fetched from another host, or built";
        let made = Family::counter("wellspring_images_made", help);
        let made = made.sample(&[("how", "unpacked")], self.unpacked.read());
        let made = made.sample(&[("how", "fetched")], self.fetched.read());
        families.push(made.sample(&[("how", "built")], self.built.read()));
        families
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Weak<OnceCell<Settled<Refusal>>>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Held ===

impl Held {
    fn evict_until(&mut self, most_bytes: u64, but: Option<&Key>, slots: &Slots) -> Evicted {
        let mut evicted = Evicted::default();
        for (key, snapshot) in self.by_key.iter().rev() {
            if self.bytes <= most_bytes && self.by_key.len() - evicted.keys.len() <= MOST_HELD {
                break;
            }
            if Some(key) == but {
                continue;
            }
            let idle = slots.forget(snapshot);
            // Idle slots have it mapped; what has it besides these and this cache is a run.
            if Arc::strong_count(snapshot) == 1 + idle.count() {
                self.bytes -= snapshot.memory_bytes() as u64;
                evicted.keys.push(*key);
            }
            evicted.idle.push(idle);
        }
        evicted.snapshots = evicted.keys.iter().filter_map(|key| self.by_key.pop(key)).collect();
        evicted
    }
}

// === impl Flight ===

impl<Refusal: Clone> Flight<'_, Refusal> {
    /// Waits for the image, or makes it if no other caller does. One that is cancelled or fails leaves it to the next.
    pub(crate) async fn settle<E>(
        &self,
        make: impl Future<Output = Result<Settled<Refusal>, E>>,
    ) -> Result<Settled<Refusal>, E> {
        self.cell.get_or_try_init(|| make).await.cloned()
    }
}

impl<Refusal> Drop for Flight<'_, Refusal> {
    fn drop(&mut self) {
        let mut flights = self.images.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller that comes now finds the image in memory, or begins anew.
        if Arc::strong_count(&self.cell) == 1 {
            flights.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;
