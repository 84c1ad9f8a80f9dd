//! The crate's front: build images, run them.

mod building;
mod config;
mod error;

use std::sync::{Arc, OnceLock};

use admission::{Bounds, Gate, Pool, Share, Turns};
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use metrics::Family;

use self::building::{Refusal, base_image, builds};
use crate::aside::Aside;
use crate::cache::Cache;
use crate::engine::Engine;
use crate::images::Images;
use crate::isolated::{Report, WorkerBounds, Workers};
use crate::limits::Limits;
use crate::memory::MemoryShare;
use crate::outcome::Outcome;
use crate::peers::Peers;
use crate::program::Sources;
use crate::run::{Run, Started};
use crate::services::Services;
use crate::slots::Numbered;
use crate::snapshot::Snapshot;
use crate::tape::{Replay, Tape};

pub use building::{Building, Built};
pub(crate) use building::{INIT, LOAD, describe, first_snapshot, load};
pub use config::{Config, Isolation};
pub use error::{Error, LoadError};

pub(crate) const INVOKE: &str = "wellspring:wall/component@0.1.0#invoke";

/// Builds and runs components. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) base: Arc<Snapshot>,
    cache: Cache,
    pub(crate) gate: Gate,
    run_bounds: Bounds,
    turns: Turns,
    run_bytes: Pool,
    images: Images<Refusal>,
    /// Images whose file is gone, asked for or made again: a heavy piece of work that no deploy admitted.
    builds: Gate,
    pub(crate) aside: Aside,
    max_image_bytes: usize,
    workers: Option<Workers>,
    peers: OnceLock<Arc<dyn Peers>>,
}

/// A component ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Image {
    pub(crate) snapshot: Arc<Snapshot>,
    /// For what is required only while it runs.
    pub(crate) sources: Sources,
}

/// One run to be made.
pub struct Task<'a> {
    /// Whose share of the runs it takes.
    pub tenant: &'a str,
    /// JSON for `invoke` of `wit/component.wit`.
    pub call: &'a str,
    pub limits: Limits,
    /// Runs that are at work may wait for this one: it does not wait for them.
    pub is_urgent: bool,
    /// Answers of an earlier run, given instead of the real ones.
    pub replay: Option<&'a Replay>,
}

// === impl Sandbox ===

impl Sandbox {
    /// Loads the engine, and maps the base image from the cache or takes it.
    #[boxed]
    pub async fn open(config: Config) -> Result<Self, Error> {
        let cache = Cache::new(config.cache_folder.clone(), config.cache_key, config.image_bytes);
        let mut engine = Engine::new(config.warm_slots)?;
        engine.slots.restore_aside();
        let base = base_image(&engine, &cache).await?;
        let run_bounds = Bounds { places: config.runs, waiting: config.waiting_runs };
        let gate = Gate::new("runs", run_bounds);
        let workers = match config.isolation {
            Isolation::None => None,
            Isolation::Process(processes) => {
                let (warm_slots, held_image_bytes) = (config.warm_slots, config.held_image_bytes);
                Some(Workers::open(processes, base.clone(), WorkerBounds { warm_slots, held_image_bytes }).await?)
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                base,
                cache,
                gate,
                run_bounds,
                turns: Turns::for_threads(),
                run_bytes: Pool::new("run_bytes", config.run_bytes),
                images: Images::new(config.held_image_bytes),
                builds: builds(),
                aside: Aside::new(config.aside),
                max_image_bytes: config.max_image_bytes,
                workers,
                peers: OnceLock::new(),
            }),
        })
    }

    /// Removes the image of a program that is no longer used. Runs that have it go on.
    pub fn discard(&self, name: &str) -> bool {
        let key = self.inner.image_key(name);
        self.inner.cache.remove_image(&key);
        self.inner.images.remove(&key, &self.inner.engine.slots)
    }

    /// Where images are asked for from now on that are neither in memory nor on disk, before they are built.
    pub fn meet(&self, peers: Arc<dyn Peers>) {
        // There is one installation, and so one set of peers.
        let _ = self.inner.peers.set(peers);
    }

    /// An image on disk, for another host that asked for it by this name.
    pub async fn lend(&self, image: &str) -> Option<Bytes> {
        self.inner.lend(image).await
    }

    /// Lets go of images in memory, but of those that run, until they take no more than so many bytes.
    pub fn shrink_images(&self, most_bytes: u64) {
        self.inner.let_go(self.inner.images.shrink(most_bytes, &self.inner.engine.slots));
    }

    /// What images take of memory.
    pub fn held_image_bytes(&self) -> u64 {
        self.inner.images.held_bytes()
    }

    /// Refuses every run that would begin, or stops doing so. Those that run or wait go on.
    pub fn refuse_runs(&self, are_refused: bool) {
        let none = Share::new(0, 0);
        let bounds = if are_refused { Bounds { places: none, waiting: none } } else { self.inner.run_bounds };
        self.inner.gate.set_bounds(bounds);
    }

    /// Runs one call in an instance whose memory is the image, and in which nothing has run since.
    pub fn run<'a>(
        &'a self,
        image: &'a Image,
        task: Task<'a>,
        services: Arc<dyn Services>,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(self.run_in_turn(image, task, services))
    }

    async fn run_in_turn(&self, image: &Image, task: Task<'_>, services: Arc<dyn Services>) -> Result<Outcome, Error> {
        let gate = &self.inner.gate;
        let entered =
            if task.is_urgent { gate.enter_urgently(task.tenant).await } else { gate.enter(task.tenant).await };
        let permit = entered.map_err(Error::Overloaded)?;
        if let Some(workers) = &self.inner.workers {
            return workers.run(image, &task, services).await;
        }
        let replay = task.replay.map(Tape::replaying);
        let memory_share = MemoryShare::new(self.inner.run_bytes.clone(), task.tenant, image.snapshot.length());
        let (inner, image, call, limits) = (self.inner.clone(), image.clone(), task.call.to_owned(), task.limits);
        let running = async move {
            let _permit = permit;
            let mut run = Run::new(services, limits, Some(image.sources));
            run.tape = replay.unwrap_or(run.tape);
            run.share_memory(memory_share);
            let mut started = Started::new(&inner.engine, &image.snapshot, run)?;
            let result = started.call(INVOKE, Some(&call)).await?;
            let outcome = started.take_outcome(result);
            started.rest();
            Ok(outcome)
        };
        // From its first turn on it has memory: what waits for a turn holds none, and those that run have what is warm.
        let running = self.inner.turns.of(task.tenant).polling(Numbered(Box::pin(running)));
        self.inner.aside.when_long(running).await
    }

    /// What the sandbox can tell of itself: its runs, its images on disk, and worker processes that were started again.
    pub fn families(&self) -> Vec<Family> {
        let mut families = self.inner.gate.families();
        families.extend(self.inner.images.families());
        families.extend(self.inner.builds.families());
        families.extend(self.inner.run_bytes.families());
        let (count, bytes) = self.inner.cache.images_used();
        let on_disk = [("cache", "images_on_disk")];
        families.push(Family::gauge("wellspring_cache_entries", "What caches hold").sample(&on_disk, count));
        let help = "What caches hold, in memory or, where the name says so, on disk";
        families.push(Family::gauge("wellspring_cache_bytes", help).sample(&on_disk, bytes));
        if let Some(workers) = &self.inner.workers {
            let help = "Worker processes that ended when they should not have; each is started again for its next run";
            families.push(Family::counter("wellspring_worker_restarts", help).sample(&[], workers.failures()));
        }
        families
    }

    /// What worker processes are locked by; nothing where there are none.
    pub fn report(&self) -> Option<&Report> {
        self.inner.workers.as_ref().map(Workers::report)
    }

    /// How many worker processes ended that should not have.
    pub fn worker_failures(&self) -> u64 {
        self.inner.workers.as_ref().map_or(0, Workers::failures)
    }

    /// The process that makes the runs of a tenant, if that is not this one and it has been started.
    pub fn worker_process(&self, tenant: &str) -> Option<u32> {
        self.inner.workers.as_ref().and_then(|workers| workers.process_id(tenant))
    }
}

// === impl Image ===

impl Image {
    /// The same image, whose runs find the program's text elsewhere: an image that is held should not hold the text.
    #[must_use]
    pub fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }
}

// === impl Inner ===

impl Inner {
    /// What a worker process has: no cache, no gate that would hold anything back, and no workers of its own.
    pub(crate) fn in_worker(engine: Engine, base: Arc<Snapshot>) -> Arc<Self> {
        let everything = Share::new(u64::MAX, u64::MAX);
        let run_bounds = Bounds { places: everything, waiting: everything };
        let gate = Gate::new("runs", run_bounds);
        let cache = Cache::new(None, [0; 32], everything);
        let (images, builds) = (Images::new(0), builds());
        let (turns, max_image_bytes) = (Turns::for_threads(), usize::MAX);
        let run_bytes = Pool::new("run_bytes", everything);
        Arc::new(Self {
            engine,
            base,
            cache,
            gate,
            run_bounds,
            turns,
            run_bytes,
            images,
            builds,
            aside: Aside::new(None),
            max_image_bytes,
            workers: None,
            peers: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests;
