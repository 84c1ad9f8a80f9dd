//! Images: made from programs, found in memory or on disk, and made again when they are gone.

use std::io;
use std::sync::Arc;

use admission::{Bounds, Gate, Share, on_own_thread};
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Error, Image, Inner, LoadError, Sandbox};
use crate::cache::{Cache, Draft, Owner};
use crate::compile::Compiler;
use crate::engine::{Engine, FIRST_MEMORY};
use crate::images::{Evicted, Key};
use crate::limits::{LimitKind, Limits};
use crate::offline::Offline;
use crate::outcome::{Fault, LogLine, Thrown, Usage};
use crate::program::{Program, Sources};
use crate::run::{Run, Started};
use crate::snapshot::{Snapshot, stored_bytes};

pub(crate) const INIT: &str = "wellspring:wall/component@0.1.0#init";
pub(crate) const LOAD: &str = "wellspring:wall/component@0.1.0#load";
const DESCRIBE: &str = "wellspring:wall/component@0.1.0#describe";

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

/// Why a component cannot be loaded, without failures of the host, which the next call may not meet.
#[derive(Clone)]
pub(super) enum Refusal {
    Threw(Thrown),
    Fault(Fault),
}

// === impl Sandbox ===

impl Sandbox {
    /// Evaluates a component and keeps its image. Nothing is kept of one that does not load.
    pub async fn build(&self, program: Arc<Program>, limits: Limits) -> Result<Built, LoadError> {
        let name = program.digest();
        self.build_metered("", &name, program, limits, &mut Usage::default()).await
    }

    /// The same for a tenant, whose share of the disk the image is part of. Counts what it took, also of one that does not
    /// load. `name` is the program's digest as the caller makes it: equal names must mean equal programs.
    #[boxed]
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
                let (host, program) = (inner.clone(), program.clone());
                let making = async move {
                    let mut usage = Usage::default();
                    let made = host.make((key, owner), &program, limits, &mut usage).await;
                    Ok::<_, LoadError>((made, usage))
                };
                let (made, used) = inner.aside.at_once(making).await?;
                *usage = used;
                made?
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

    /// The image of the program of that name. Of calls that find none in memory one unpacks it, fetches it from a peer or builds
    /// it, at its cost, and the others wait for that. The text of the program is read only to build it; `sources` say where it is, also for runs
    /// that require more of it.
    pub async fn image_of(&self, name: &str, sources: Sources, building: Building<'_>) -> Result<Image, LoadError> {
        let key = self.inner.image_key(name);
        let snapshot = match self.inner.images.get(&key) {
            Some(snapshot) => snapshot,
            None => self.find_or_build(key, &sources, building).await?,
        };
        Ok(Image { snapshot, sources })
    }

    fn find_or_build<'a>(
        &'a self,
        key: Key,
        sources: &'a Sources,
        building: Building<'a>,
    ) -> BoxFuture<'a, Result<Arc<Snapshot>, LoadError>> {
        Box::pin(self.search(key, sources, building))
    }

    async fn search(&self, key: Key, sources: &Sources, building: Building<'_>) -> Result<Arc<Snapshot>, LoadError> {
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
            let asked = match inner.peers.get() {
                Some(peers) => Some(peers.ask(&hex::encode(key)).await),
                None => None,
            };
            if let Some(lent) = asked.as_ref().and_then(|asked| asked.lent.clone())
                && let Some(found) = inner.take_lent(key, Owner::of(building.tenant), lent).await?
            {
                return Ok(Ok(found));
            }
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
}

/// Evaluates a component: the memory it leaves, and what it logged. What that took is counted also when it does not load.
pub(crate) async fn load(
    inner: &Arc<Inner>,
    program: &Arc<Program>,
    limits: Limits,
    usage: &mut Usage,
) -> Result<(Vec<u8>, Vec<LogLine>), LoadError> {
    let mut run = Run::new(Arc::new(Offline::default()), limits, Some(Sources::Whole(program.clone())));
    run.compiler = Some(Compiler::new(inner.clone(), limits));
    let mut loading = Started::new(&inner.engine, &inner.base, run)?;
    let table = program.to_table().map_err(Error::from)?;
    let loaded = loading.call(LOAD, Some(&table)).await;
    // Compiling happens inside of the call, so its time is counted with it.
    *usage = loading.usage();
    loaded?.map_err(LoadError::Fault)?.map_err(LoadError::Threw)?;
    // Before it is copied: what is refused need not be held twice.
    if loading.takes_more_than(inner.max_image_bytes).await {
        return Err(too_large(inner.max_image_bytes));
    }
    let logs = std::mem::take(&mut loading.store.data_mut().logs);
    Ok((loading.snapshot().await?, logs))
}

fn too_large(limit: usize) -> LoadError {
    LoadError::Fault(Fault::TooMuchOutput { what: LimitKind::ImageBytes, limit })
}

/// The component as JSON, from a fresh instance of its image.
pub(crate) async fn describe(
    inner: &Inner,
    program: &Arc<Program>,
    snapshot: &Arc<Snapshot>,
    limits: Limits,
    usage: &mut Usage,
) -> Result<String, LoadError> {
    let run = Run::new(Arc::new(Offline::default()), limits, Some(Sources::Whole(program.clone())));
    let mut describing = Started::new(&inner.engine, snapshot, run)?;
    let described = describing.call(DESCRIBE, None).await;
    *usage = usage.plus(describing.usage());
    described?.map_err(LoadError::Fault)?.map_err(LoadError::Threw)
}

// === impl Inner ===

impl Inner {
    /// Loads a component in this process: its image, which is kept, how it describes itself, and what it logged.
    async fn make(
        self: &Arc<Self>,
        (key, owner): (Key, Owner),
        program: &Arc<Program>,
        limits: Limits,
        usage: &mut Usage,
    ) -> Result<(Arc<Snapshot>, String, Vec<LogLine>), LoadError> {
        let (memory, logs) = load(self, program, limits, usage).await?;
        let draft = self.draft(key, owner, memory).await?;
        let description = describe(self, program, &draft.snapshot, limits, usage).await?;
        Ok((self.keep(key, draft).await?, description, logs))
    }

    /// Memory as a file, written where no other task waits for it.
    async fn draft(&self, key: Key, owner: Owner, memory: Vec<u8>) -> Result<Draft, LoadError> {
        let (cache, base, limit) = (self.cache.clone(), self.base.clone(), self.max_image_bytes);
        let written = on_own_thread("image", move || {
            let fits = stored_bytes(&memory) <= limit;
            fits.then(|| cache.draft_image(&key, owner, &base, &memory))
        });
        let written = written.await.map_err(Error::Disk)?.ok_or_else(|| too_large(limit))?;
        Ok(written.map_err(Error::Disk)?)
    }

    /// Keeps an image on disk and in memory.
    async fn keep(self: &Arc<Self>, key: Key, draft: Draft) -> Result<Arc<Snapshot>, Error> {
        let inner = self.clone();
        let keeping = tokio::task::spawn_blocking(move || {
            let snapshot = draft.keep();
            inner.let_go(inner.images.hold(key, &snapshot, &inner.engine.slots));
            snapshot
        });
        keeping.await.map_err(|error| Error::Disk(io::Error::other(error)))
    }

    /// The image in memory, if there is a file of it; where no other task waits for it.
    async fn unpack(self: &Arc<Self>, key: Key) -> Result<Option<Arc<Snapshot>>, Error> {
        let place = self.images.unpacking.clone().acquire_owned().await;
        let place = place.map_err(|_| Error::Shim("a semaphore is never closed"))?;
        let (telling, told) = oneshot::channel();
        let inner = self.clone();
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let found = inner.cache.find_image(&key, &inner.base);
            let evicted = found.as_ref().map(|found| {
                inner.images.unpacked.increment();
                inner.images.hold(key, found, &inner.engine.slots)
            });
            // One that does not wait any more does not mind; one that does need not wait for what had to go.
            drop(telling.send(found));
            inner.let_go(evicted.unwrap_or_default());
        });
        told.await.map_err(|error| Error::Memory(io::Error::other(error)))
    }

    /// What another host lent, as an image of this one.
    async fn take_lent(self: &Arc<Self>, key: Key, owner: Owner, lent: Bytes) -> Result<Option<Arc<Snapshot>>, Error> {
        let inner = self.clone();
        let taking = tokio::task::spawn_blocking(move || {
            let taken = inner.cache.take_lent(&key, owner, &inner.base, &lent);
            let taken = taken.inspect_err(|error| tracing::warn!(%error, "an image of another host cannot be used"));
            let Ok(Some(snapshot)) = taken else { return None };
            inner.images.fetched.increment();
            inner.let_go(inner.images.hold(key, &snapshot, &inner.engine.slots));
            Some(snapshot)
        });
        taking.await.map_err(|error| Error::Disk(io::Error::other(error)))
    }

    pub(super) async fn lend(self: &Arc<Self>, image: &str) -> Option<Bytes> {
        let mut key = Key::default();
        hex::decode_to_slice(image, &mut key).ok()?;
        let inner = self.clone();
        let lending = tokio::task::spawn_blocking(move || inner.cache.lend(&key, &inner.base));
        lending.await.ok()?.map(Bytes::from)
    }

    /// Frees the memory of images.
    pub(super) fn let_go(&self, evicted: Evicted) {
        evicted.keys.iter().for_each(|key| self.cache.note_use(key));
        drop(evicted);
    }

    /// Of a program's name, under this engine.
    pub(super) fn image_key(&self, name: &str) -> [u8; 32] {
        blake3::keyed_hash(&self.engine.key, name.as_bytes()).into()
    }
}

/// Images whose file is gone are asked for and made again here: no deploy admitted that work.
pub(super) fn builds() -> Gate {
    Gate::new("builds", Bounds { places: Share::new(4, 1), waiting: Share::new(1024, 256) })
}

pub(super) async fn base_image(engine: &Engine, cache: &Cache) -> Result<Arc<Snapshot>, Error> {
    if let Some(snapshot) = cache.find_base(&engine.key) {
        return Ok(snapshot);
    }
    let offline = Offline::repeatable(cache.key());
    cache.keep_base(&engine.key, &first_snapshot(engine, INIT, offline).await?).map_err(Error::Memory)
}

/// Memory after the prelude was evaluated, all of it or its core.
pub(crate) async fn first_snapshot(engine: &Engine, init: &str, offline: Offline) -> Result<Vec<u8>, Error> {
    let first = Snapshot::unnamed(FIRST_MEMORY).map_err(Error::Memory)?;
    let run = Run::new(Arc::new(offline), Limits::default(), None);
    let mut starting = Started::new(engine, &first, run)?;
    for function in ["_initialize", init] {
        starting.call_plain(function).await?.map_err(|fault| Error::Start(Box::new(fault)))?;
    }
    starting.snapshot().await
}

#[cfg(test)]
mod tests {
    use crate::{Config, Sandbox};

    async fn base_of(secret: u8) -> [u8; 32] {
        let sandbox = Sandbox::open(Config { cache_key: [secret; 32], ..Config::default() }).await.unwrap();
        *sandbox.inner.base.digest()
    }

    /// What one makes over its base the other can use.
    #[tokio::test]
    async fn hosts_with_the_same_secret_have_the_same_base() {
        let (one, same, other) = (base_of(1).await, base_of(1).await, base_of(2).await);

        assert_eq!(one, same);
        assert_ne!(one, other);
    }
}
