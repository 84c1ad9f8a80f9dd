//! QuickJS, compiled once and shared by everyone.

mod rewrite;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::{Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

pub(crate) use rewrite::{MEMORY_IMPORT, PAGE_BYTES, RewriteError, STACK_POINTER_EXPORT, Split};

use crate::cache::Cache;
use crate::limits::Limits;
use crate::offline::Offline;
use crate::run::Run;
use crate::sandbox::{Config, Error};
use crate::wall;

/// The committed build of `guest-shim/`.
pub(crate) const SHIM: &[u8] = include_bytes!("../../../guest-shim/shim.wasm");

/// What a fresh instance may keep of its pages for the next one in its slot. Writing a few dirty pages back costs less
/// than faulting them in again; but what one run wrote is written back after every later one, so a run that wrote a lot must
/// not leave all of it behind. Short runs write some twenty pages.
const KEEP_RESIDENT_BYTES: usize = 256 << 10;

/// The C stack of the guest is at most 1 MiB of linear memory, and QuickJS checks it; machine frames of
/// compiled code need more room for the same depth, so that QuickJS's own check comes first.
const MACHINE_STACK_BYTES: usize = 3 << 20;

/// The compiled engine with everything a run links it to.
pub(crate) struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) code: wasmtime::Module,
    pub(crate) linker: wasmtime::Linker<Run>,
    /// How many imports `code` has: the memory, and functions.
    pub(crate) imports: usize,
    /// For each function of the linker, as it lists them: its place among the imports. A run then looks up no names. The list
    /// of a linker that is not changed is always the same.
    pub(crate) places: Vec<usize>,
    /// Memory as the data segments of the shim leave it.
    pub(crate) first_memory: Vec<u8>,
    /// Distinguishes everything compiled or snapshotted with another shim, wasmtime or setting.
    pub(crate) key: [u8; 32],
    pub(crate) meters_fuel: bool,
}

// === impl Engine ===

impl Engine {
    pub(crate) fn new(config: &Config, cache: &Cache) -> Result<Self, Error> {
        let wasmtime = wasmtime::Engine::new(&settings(config)).map_err(Error::Engine)?;
        let Split { code, memory } = rewrite::split(SHIM)?;
        let key = engine_key(&wasmtime);
        let code = match cache.find(&wasmtime, "engine", &key) {
            Some(code) => code,
            None => cache.keep("engine", &key, wasmtime::Module::new(&wasmtime, &code).map_err(Error::Engine)?),
        };
        let linker = wall::linker(&wasmtime).map_err(Error::Engine)?;
        let (imports, places) = (code.imports().len(), places(&wasmtime, &linker, &code)?);
        Ok(Self { wasmtime, code, linker, imports, places, first_memory: memory, key, meters_fuel: config.meters_fuel })
    }
}

fn places(
    engine: &wasmtime::Engine,
    linker: &wasmtime::Linker<Run>,
    code: &wasmtime::Module,
) -> Result<Vec<usize>, Error> {
    let names: Vec<_> = code.imports().map(|import| (import.module(), import.name())).collect();
    let mut store = wasmtime::Store::new(engine, Run::new(Arc::new(Offline), Limits::default(), None));
    let listed: Vec<_> = linker.iter(&mut store).map(|(module, name, _)| (module, name)).collect();
    if names.iter().any(|name| *name != MEMORY_IMPORT && !listed.contains(name)) {
        return Err(Error::Shim("it imports a function that the wall does not have"));
    }
    // One that the shim does not import has its place beyond the end.
    let place = |name| names.iter().position(|import| *import == name).unwrap_or(names.len());
    Ok(listed.into_iter().map(place).collect())
}

fn settings(config: &Config) -> wasmtime::Config {
    let mut settings = wasmtime::Config::new();
    settings
        .consume_fuel(config.meters_fuel)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(config.max_memory_bytes as u64)
        .max_wasm_stack(MACHINE_STACK_BYTES)
        .async_stack_size(MACHINE_STACK_BYTES + (256 << 10))
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config)));
    settings
}

fn pool(config: &Config) -> PoolingAllocationConfig {
    let runs = config.max_concurrent_runs as u32;
    let mut pool = PoolingAllocationConfig::default();
    pool.total_memories(runs)
        .total_core_instances(runs * 2)
        .total_tables(runs)
        // A host function that allocates in the guest calls back into it on a second stack.
        .total_stacks(runs * 2)
        .max_memory_size(config.max_memory_bytes)
        .table_elements(10_000)
        .max_unused_warm_slots(config.warm_slots)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    pool
}

fn engine_key(engine: &wasmtime::Engine) -> [u8; 32] {
    /// `Hash` is the only view wasmtime gives of what makes two engines compatible.
    struct Sink(Sha256);
    impl std::hash::Hasher for Sink {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut sink = Sink(Sha256::new_with_prefix(SHIM));
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut sink);
    sink.0.update(env!("CARGO_PKG_VERSION"));
    sink.0.finalize().into()
}
