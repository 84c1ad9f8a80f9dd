//! Variants of a run for benchmarks: each leaves out something that every real run has, to show what it costs.

use std::sync::Arc;

use crate::compile::Compiler;
use crate::engine::FIRST_MEMORY;
use crate::limits::Limits;
use crate::offline::Offline;
use crate::outcome::Outcome;
use crate::program::{Program, Sources};
use crate::region::MACHINE_PAGE_BYTES;
use crate::run::{Run, Started};
use crate::sandbox::{Error, INIT, INVOKE, Image, LOAD, Sandbox, Task, first_snapshot};
use crate::services::Services;
use crate::snapshot::{Snapshot, stored_bytes};

const INIT_CORE: &str = "wellspring:wall/component@0.1.0#init-core";

/// One instance used again and again: no isolation between runs. All else is as in [`Sandbox::run`], so that what differs is
/// what a fresh instance costs.
pub struct Warm {
    sandbox: Sandbox,
    started: Started,
    sources: Sources,
}

/// Starts every run from nothing: prelude and component are evaluated each time.
pub struct WithoutImage {
    sandbox: Sandbox,
    first: Arc<Snapshot>,
    program: Arc<Program>,
    table: String,
}

/// What one run wrote to: every such page is copied when it is first written, and restored afterwards.
#[derive(Debug)]
pub struct Written {
    pub pages: usize,
    /// Stretches of neighbouring pages.
    pub regions: usize,
}

/// Sizes of what is kept, as bytes on disk.
pub struct Sizes {
    pub base_image: usize,
    pub image: usize,
}

// === impl Warm ===

impl Warm {
    pub fn new(sandbox: &Sandbox, image: &Image) -> Result<Self, Error> {
        let run = Run::new(offline_services(), Limits::default(), Some(image.sources.clone()));
        let started = Started::new(&sandbox.inner.engine, &image.snapshot, run)?;
        Ok(Self { sandbox: sandbox.clone(), started, sources: image.sources.clone() })
    }

    /// Runs one call on what the last one left.
    pub async fn run(&mut self, task: Task<'_>, services: Arc<dyn Services>) -> Result<Outcome, Error> {
        let _permit = self.sandbox.inner.gate.enter(task.tenant).await.map_err(Error::Overloaded)?;
        self.started.begin(Run::new(services, task.limits, Some(self.sources.clone())))?;
        let result = self.started.call(INVOKE, Some(task.call)).await?;
        Ok(self.started.take_outcome(result))
    }
}

// === impl WithoutImage ===

impl WithoutImage {
    pub async fn new(sandbox: &Sandbox, image: &Image) -> Result<Self, Error> {
        let first = Snapshot::unnamed(FIRST_MEMORY).map_err(Error::Memory)?;
        let program = image.sources.read().await.map_err(Error::Service)?;
        let program = program.ok_or(Error::Shim("its program cannot be read"))?;
        let table = program.to_table()?;
        Ok(Self { sandbox: sandbox.clone(), first, program, table })
    }

    /// Runs one call; `true` if it went well.
    pub async fn call(&self, call: &str, services: Arc<dyn Services>) -> Result<bool, Error> {
        let run = Run::new(services, Limits::default(), Some(Sources::Whole(self.program.clone())));
        let mut started = Started::new(&self.sandbox.inner.engine, &self.first, run)?;
        for function in ["_initialize", INIT] {
            if let Err(fault) = started.call_plain(function).await? {
                return Err(Error::Start(Box::new(fault)));
            }
        }
        let loaded = started.call(LOAD, Some(&self.table)).await?;
        let called = started.call(INVOKE, Some(call)).await?;
        Ok(matches!((loaded, called), (Ok(Ok(_)), Ok(Ok(_)))))
    }
}

/// The image of a program that was loaded on the core of the prelude: without the web's globals and Node's modules.
pub async fn core_image(sandbox: &Sandbox, program: Arc<Program>) -> Result<Image, Error> {
    let engine = &sandbox.inner.engine;
    let base =
        Snapshot::unnamed(&first_snapshot(engine, INIT_CORE, Offline::default()).await?).map_err(Error::Memory)?;
    let mut run = Run::new(offline_services(), Limits::default(), Some(Sources::Whole(program.clone())));
    run.compiler = Some(Compiler::new(sandbox.inner.clone(), Limits::default()));
    let mut loading = Started::new(engine, &base, run)?;
    let loaded = loading.call(LOAD, Some(&program.to_table()?)).await?;
    loaded.map_err(|fault| Error::Start(Box::new(fault)))?.map_err(|_| Error::Shim("the core loads no component"))?;
    let snapshot = Snapshot::unnamed(&loading.snapshot().await?).map_err(Error::Memory)?;
    Ok(Image { snapshot, sources: Sources::Whole(program) })
}

/// Runs one call and counts the machine pages whose content it changed.
pub async fn written(sandbox: &Sandbox, image: &Image, call: &str) -> Result<Written, Error> {
    let run = Run::new(offline_services(), Limits::default(), Some(image.sources.clone()));
    let mut called = Started::new(&sandbox.inner.engine, &image.snapshot, run)?;
    // How the call ended does not matter to what it wrote.
    let _ = called.call(INVOKE, Some(call)).await?;
    let (before, after) = (image.snapshot.bytes(), called.memory());
    let zeros = [0; MACHINE_PAGE_BYTES];
    let mut written = Written { pages: 0, regions: 0 };
    let mut was_written = false;
    for (index, page) in after.chunks(MACHINE_PAGE_BYTES).enumerate() {
        let start = index * MACHINE_PAGE_BYTES;
        let is_written = before.get(start..start + MACHINE_PAGE_BYTES).unwrap_or(&zeros) != page;
        written.pages += usize::from(is_written);
        written.regions += usize::from(is_written && !was_written);
        was_written = is_written;
    }
    Ok(written)
}

/// Sizes of the base image and of a component's.
pub fn sizes(sandbox: &Sandbox, image: &Image) -> Sizes {
    let size = |snapshot: &Snapshot| stored_bytes(snapshot.bytes());
    Sizes { base_image: size(&sandbox.inner.base), image: size(&image.snapshot) }
}

/// Services with a clock and randomness, and nothing else: what a benchmark's component needs.
pub fn offline_services() -> Arc<dyn Services> {
    Arc::new(Offline::default())
}
