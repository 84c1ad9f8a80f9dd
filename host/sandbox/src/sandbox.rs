//! The crate's front: build images, run them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use admission::{Bounds, Full, Gate, Share, Turns};
use metrics::Family;

use crate::cache::{Cache, Draft, Owner};
use crate::compile::Compiler;
use crate::engine::{Engine, FIRST_MEMORY};
use crate::images::{Images, Key};
use crate::isolated::{self, Processes, Report, WorkerBounds, Workers};
use crate::limits::{LimitKind, Limits};
use crate::offline::Offline;
use crate::outcome::{Fault, LogLine, Outcome, Thrown, Usage};
use crate::program::{Program, Sources};
use crate::run::{Run, Started};
use crate::services::{ServiceError, Services};
use crate::snapshot::{Snapshot, stored_bytes};
use crate::tape::{Replay, Tape};

pub(crate) const INIT: &str = "wellspring:wall/component@0.1.0#init";
pub(crate) const LOAD: &str = "wellspring:wall/component@0.1.0#load";
const DESCRIBE: &str = "wellspring:wall/component@0.1.0#describe";
pub(crate) const INVOKE: &str = "wellspring:wall/component@0.1.0#invoke";

#[derive(Debug, Clone)]
pub struct Config {
    /// Where images are kept between starts. It must be writable by this server alone.
    pub cache_folder: Option<PathBuf>,
    pub runs: Share,
    pub waiting_runs: Share,
    /// Slots that keep their last image mapped for the next run of it.
    pub warm_slots: usize,
    /// Memory for images that do not run, beside those that do; the others are unpacked from their files when they are needed.
    pub held_image_bytes: u64,
    pub isolation: Isolation,
    /// A secret of the server: files of the cache are trusted when they are hashed with it.
    pub cache_key: [u8; 32],
    /// The disk quota of images.
    pub image_bytes: Share,
    /// The largest image.
    pub max_image_bytes: usize,
}

/// What stands between tenants beside WebAssembly.
#[derive(Debug, Clone)]
pub enum Isolation {
    /// Nothing: all run in this process.
    None,
    /// Processes that can do nothing but run components, one for each group of tenants.
    Process(Processes),
}

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
    images: Images<Refusal>,
    /// Images that are made again because their file is gone: a heavy piece of work that no deploy admitted.
    builds: Gate,
    max_image_bytes: usize,
    workers: Option<Workers>,
}

/// A component ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Image {
    pub(crate) snapshot: Arc<Snapshot>,
    /// For what is required only while it runs.
    pub(crate) sources: Sources,
}

/// A component that loaded.
pub struct Built {
    pub image: Image,
    /// The component as JSON, functions as `{"$fn": true}`.
    pub description: String,
    /// What it logged while it loaded.
    pub logs: Vec<LogLine>,
}

/// Whose cost it is when an image has to be made again, what that may take, and what it took.
pub struct Building<'a> {
    pub tenant: &'a str,
    pub limits: Limits,
    pub usage: &'a mut Usage,
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

/// The component cannot be loaded. Its own mistake, told to its author.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{}: {}", .0.name, .0.message)]
    Threw(Thrown),
    #[error("while the component was loading, {0}")]
    Fault(Fault),
    #[error(transparent)]
    Host(#[from] Error),
}

/// The same without failures of the host, which the next call may not meet.
#[derive(Clone)]
enum Refusal {
    Threw(Thrown),
    Fault(Fault),
}

/// The host failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the engine failed: {0:#}")]
    Engine(#[source] wasmtime::Error),
    #[error("there is no memory for a run: {0}")]
    Memory(#[source] io::Error),
    #[error("an image could not be written: {0}")]
    Disk(#[source] io::Error),
    #[error("an instance could not be made: {0:#}")]
    Instantiate(#[source] wasmtime::Error),
    #[error("the shim is broken: {0}")]
    Shim(&'static str),
    #[error("the shim failed to start: {0}")]
    Start(Box<Fault>),
    #[error("{0}")]
    Overloaded(Full),
    #[error(transparent)]
    Service(ServiceError),
    /// The runs of the worker may be made again: nothing of them was kept.
    #[error("the worker process of the run ended: {0}")]
    Worker(#[source] isolated::Ended),
    #[error("the worker process could not make the run: {reason}")]
    InWorker { reason: String },
    #[error("a program could not be encoded")]
    Encode(#[from] serde_json::Error),
}

// === impl Sandbox ===

impl Sandbox {
    /// Loads the engine, and maps the base image from the cache or takes it.
    pub async fn open(config: Config) -> Result<Self, Error> {
        let cache = Cache::new(config.cache_folder.clone(), config.cache_key, config.image_bytes);
        let engine = Engine::new(config.warm_slots)?;
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
                images: Images::new(config.held_image_bytes),
                builds: builds(),
                max_image_bytes: config.max_image_bytes,
                workers,
            }),
        })
    }

    /// Evaluates a component and keeps its image. Nothing is kept of one that does not load.
    pub async fn build(&self, program: Arc<Program>, limits: Limits) -> Result<Built, LoadError> {
        let name = program.digest();
        self.build_metered("", &name, program, limits, &mut Usage::default()).await
    }

    /// The same for a tenant, whose share of the disk the image is part of. Counts what it took, also of one that does not
    /// load. `name` is the program's digest as the caller makes it: equal names must mean equal programs.
    pub async fn build_metered(
        &self,
        tenant: &str,
        name: &str,
        program: Arc<Program>,
        limits: Limits,
        usage: &mut Usage,
    ) -> Result<Built, LoadError> {
        self.build_image(self.inner.image_key(name), program, Building { tenant, limits, usage }).await
    }

    async fn build_image(&self, key: Key, program: Arc<Program>, building: Building<'_>) -> Result<Built, LoadError> {
        let (inner, Building { tenant, limits, usage }) = (&self.inner, building);
        inner.images.built.increment();
        let owner = Owner::of(tenant);
        let (snapshot, description, logs) = match &inner.workers {
            None => {
                let (memory, logs) = load(inner, &program, limits, usage).await?;
                let draft = inner.draft(key, owner, memory).await?;
                let description = describe(inner, &program, &draft.snapshot, limits, usage).await?;
                (inner.keep(key, draft).await?, description, logs)
            }
            Some(workers) => {
                let (memory, description, logs) = workers.build(&program, limits, usage).await?;
                (inner.keep(key, inner.draft(key, owner, memory).await?).await?, description, logs)
            }
        };
        let image = Image { snapshot, sources: Sources::Whole(program) };
        Ok(Built { image, description, logs })
    }

    /// The image of a program: held in memory, unpacked from its file, or built again.
    pub async fn image(&self, program: &Arc<Program>, limits: Limits) -> Result<Image, LoadError> {
        let (name, sources) = (program.digest(), Sources::Whole(program.clone()));
        self.image_of(&name, sources, Building { tenant: "", limits, usage: &mut Usage::default() }).await
    }

    /// The image of the program of that name. Of calls that find none in memory one unpacks or builds it, at its cost, and
    /// the others wait for that. The text of the program is read only to build it; `sources` say where it is, also for runs
    /// that require more of it.
    pub async fn image_of(&self, name: &str, sources: Sources, building: Building<'_>) -> Result<Image, LoadError> {
        let key = self.inner.image_key(name);
        let snapshot = match self.inner.images.get(&key) {
            Some(snapshot) => snapshot,
            None => Box::pin(self.find_or_build(key, &sources, building)).await?,
        };
        Ok(Image { snapshot, sources })
    }

    async fn find_or_build(
        &self,
        key: Key,
        sources: &Sources,
        building: Building<'_>,
    ) -> Result<Arc<Snapshot>, LoadError> {
        let inner = &self.inner;
        let flight = inner.images.board(key);
        let settled = flight.settle(async {
            // Another flight may have landed since this call looked.
            if let Some(found) = inner.images.peek(&key) {
                return Ok(Ok(found));
            }
            if let Some(found) = inner.unpack(key).await? {
                return Ok(Ok(found));
            }
            let _place = inner.builds.enter(building.tenant).await.map_err(Error::Overloaded)?;
            let program = sources.read().await.map_err(Error::Service)?;
            let program = program.ok_or(Error::Shim("its program cannot be read"))?;
            match self.build_image(key, program, building).await {
                Ok(built) => Ok(Ok(built.image.snapshot)),
                Err(LoadError::Threw(thrown)) => Ok(Err(Refusal::Threw(thrown))),
                Err(LoadError::Fault(fault)) => Ok(Err(Refusal::Fault(fault))),
                Err(LoadError::Host(error)) => Err(error),
            }
        });
        settled.await?.map_err(|refusal| match refusal {
            Refusal::Threw(thrown) => LoadError::Threw(thrown),
            Refusal::Fault(fault) => LoadError::Fault(fault),
        })
    }

    /// Removes the image of a program that is no longer used. Runs that have it go on.
    pub fn discard(&self, name: &str) -> bool {
        let key = self.inner.image_key(name);
        self.inner.cache.remove_image(&key);
        self.inner.images.remove(&key, &self.inner.engine.slots)
    }

    /// Lets go of images in memory, but of those that run, until they take no more than so many bytes.
    pub fn shrink_images(&self, most_bytes: u64) {
        for evicted in self.inner.images.shrink(most_bytes, &self.inner.engine.slots) {
            self.inner.cache.note_use(&evicted);
        }
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

    /// Runs one call in a fresh instance.
    pub async fn run(&self, image: &Image, task: Task<'_>, services: Arc<dyn Services>) -> Result<Outcome, Error> {
        let gate = &self.inner.gate;
        let entered =
            if task.is_urgent { gate.enter_urgently(task.tenant).await } else { gate.enter(task.tenant).await };
        let _permit = entered.map_err(Error::Overloaded)?;
        if let Some(workers) = &self.inner.workers {
            return workers.run(image, &task, services).await;
        }
        let mut run = Run::new(services, task.limits, Some(image.sources.clone()));
        if let Some(replay) = task.replay {
            run.tape = Tape::replaying(replay);
        }
        run.turn = Some(self.inner.turns.of(task.tenant));
        let mut started = Started::new(&self.inner.engine, &image.snapshot, run)?;
        let result = started.call(INVOKE, Some(task.call)).await?;
        Ok(started.take_outcome(result))
    }

    /// What the sandbox can tell of itself: its runs, its images on disk, and worker processes that were started again.
    pub fn families(&self) -> Vec<Family> {
        let mut families = self.inner.gate.families();
        families.extend(self.inner.images.families());
        families.extend(self.inner.builds.families());
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

/// Evaluates a component: the memory it leaves, and what it logged. What that took is counted also when it does not load.
pub(crate) async fn load(
    inner: &Arc<Inner>,
    program: &Arc<Program>,
    limits: Limits,
    usage: &mut Usage,
) -> Result<(Vec<u8>, Vec<LogLine>), LoadError> {
    let mut run = Run::new(Arc::new(Offline), limits, Some(Sources::Whole(program.clone())));
    run.compiler = Some(Compiler::new(inner.clone(), limits));
    let mut loading = Started::new(&inner.engine, &inner.base, run)?;
    let table = program.to_table().map_err(Error::from)?;
    let loaded = loading.call(LOAD, Some(&table)).await;
    // Compiling happens inside of the call, so its time is counted with it.
    *usage = loading.usage();
    loaded?.map_err(LoadError::Fault)?.map_err(LoadError::Threw)?;
    // Before it is copied: what is refused need not be held twice.
    if let Some(error) = inner.too_large(loading.memory()) {
        return Err(error);
    }
    let logs = std::mem::take(&mut loading.store.data_mut().logs);
    Ok((loading.snapshot()?, logs))
}

/// The component as JSON, from a fresh instance of its image.
pub(crate) async fn describe(
    inner: &Inner,
    program: &Arc<Program>,
    snapshot: &Arc<Snapshot>,
    limits: Limits,
    usage: &mut Usage,
) -> Result<String, LoadError> {
    let run = Run::new(Arc::new(Offline), limits, Some(Sources::Whole(program.clone())));
    let mut describing = Started::new(&inner.engine, snapshot, run)?;
    let described = describing.call(DESCRIBE, None).await;
    *usage = usage.plus(describing.usage());
    described?.map_err(LoadError::Fault)?.map_err(LoadError::Threw)
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
        Arc::new(Self { engine, base, cache, gate, run_bounds, turns, images, builds, max_image_bytes, workers: None })
    }

    fn too_large(&self, memory: &[u8]) -> Option<LoadError> {
        let limit = self.max_image_bytes;
        let fault = || LoadError::Fault(Fault::TooMuchOutput { what: LimitKind::ImageBytes, limit });
        (stored_bytes(memory) > limit).then(fault)
    }

    /// Memory as a file, written where no other task waits for it.
    async fn draft(&self, key: Key, owner: Owner, memory: Vec<u8>) -> Result<Draft, LoadError> {
        if let Some(error) = self.too_large(&memory) {
            return Err(error);
        }
        let (cache, base) = (self.cache.clone(), self.base.clone());
        let written = tokio::task::spawn_blocking(move || cache.draft_image(&key, owner, &base, &memory)).await;
        Ok(written.map_err(io::Error::other).flatten().map_err(Error::Disk)?)
    }

    /// Keeps an image on disk and in memory.
    async fn keep(self: &Arc<Self>, key: Key, draft: Draft) -> Result<Arc<Snapshot>, Error> {
        let inner = self.clone();
        let keeping = tokio::task::spawn_blocking(move || {
            let snapshot = draft.keep();
            inner.hold(key, &snapshot);
            snapshot
        });
        keeping.await.map_err(|error| Error::Disk(io::Error::other(error)))
    }

    /// The image in memory, if there is a file of it; where no other task waits for it.
    async fn unpack(self: &Arc<Self>, key: Key) -> Result<Option<Arc<Snapshot>>, Error> {
        let images = &self.images;
        let _place = images.unpacking.acquire().await.map_err(|_| Error::Shim("a semaphore is never closed"))?;
        let inner = self.clone();
        let unpacking = tokio::task::spawn_blocking(move || {
            let found = inner.cache.find_image(&key, &inner.base)?;
            inner.images.unpacked.increment();
            inner.hold(key, &found);
            Some(found)
        });
        unpacking.await.map_err(|error| Error::Memory(io::Error::other(error)))
    }

    fn hold(&self, key: Key, snapshot: &Arc<Snapshot>) {
        for evicted in self.images.hold(key, snapshot, &self.engine.slots) {
            self.cache.note_use(&evicted);
        }
    }

    /// Of a program's name, under this engine.
    fn image_key(&self, name: &str) -> [u8; 32] {
        blake3::keyed_hash(&self.engine.key, name.as_bytes()).into()
    }
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            cache_folder: None,
            runs: Share::new(256, 64),
            waiting_runs: Share::new(10_000, 1000),
            warm_slots: 64,
            held_image_bytes: 512 << 20,
            isolation: Isolation::None,
            cache_key: [0; 32],
            image_bytes: Share::new(8 << 30, 1 << 30),
            max_image_bytes: 64 << 20,
        }
    }
}

fn builds() -> Gate {
    Gate::new("builds", Bounds { places: Share::new(4, 1), waiting: Share::new(1024, 256) })
}

async fn base_image(engine: &Engine, cache: &Cache) -> Result<Arc<Snapshot>, Error> {
    if let Some(snapshot) = cache.find_base(&engine.key) {
        return Ok(snapshot);
    }
    cache.keep_base(&engine.key, &first_snapshot(engine, INIT).await?).map_err(Error::Memory)
}

/// Memory after the prelude was evaluated, all of it or its core.
pub(crate) async fn first_snapshot(engine: &Engine, init: &str) -> Result<Vec<u8>, Error> {
    let first = Snapshot::unnamed(FIRST_MEMORY).map_err(Error::Memory)?;
    let run = Run::new(Arc::new(Offline), Limits::default(), None);
    let mut starting = Started::new(engine, &first, run)?;
    for function in ["_initialize", init] {
        starting.call_plain(function).await?.map_err(|fault| Error::Start(Box::new(fault)))?;
    }
    starting.snapshot()
}
