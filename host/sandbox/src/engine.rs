//! QuickJS, compiled once and shared by all instances.

mod rewrite;

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

use wasmtime::{InstanceAllocationStrategy, InstancePre, ModuleExport, OptLevel};

pub(crate) use rewrite::{PAGE_BYTES, RewriteError, STACK_POINTER_EXPORT, Split};

use crate::cache::Cache;
use crate::run::Run;
use crate::sandbox::{Config, Error};
use crate::slots::{GUARD_BYTES, RESERVED_BYTES, Slots};
use crate::stacks::Stacks;
use crate::wall;

/// The committed build of `guest-shim/`.
pub(crate) const SHIM: &[u8] = include_bytes!("../../../guest-shim/shim.wasm");

/// The C stack of the guest is at most 1 MiB of linear memory, and QuickJS checks it; machine frames of
/// compiled code need more room for the same depth, so that QuickJS's own check comes first.
const MACHINE_STACK_BYTES: usize = 3 << 20;

/// The compiled engine with everything a run links it to.
pub(crate) struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    /// The code, linked to the host functions: an instance of it lacks nothing but its memory.
    pub(crate) code: InstancePre<Run>,
    /// Two of its exports, which every run needs, so that it looks up no names.
    pub(crate) memory: ModuleExport,
    pub(crate) realloc: ModuleExport,
    pub(crate) slots: Slots,
    /// Memory as the data segments of the shim leave it.
    pub(crate) first_memory: Vec<u8>,
    /// Distinguishes everything compiled or snapshotted with another shim, wasmtime or setting.
    pub(crate) key: [u8; 32],
    pub(crate) meters_fuel: bool,
}

// === impl Engine ===

impl Engine {
    pub(crate) fn new(config: &Config, cache: &Cache) -> Result<Self, Error> {
        let slots = Slots::new(config.warm_slots);
        let settings = settings(config.warm_slots, config.meters_fuel, &slots);
        let wasmtime = wasmtime::Engine::new(&settings).map_err(Error::Engine)?;
        let Split { code, memory: first_memory } = rewrite::split(SHIM)?;
        let key = engine_key(&wasmtime, &code);
        let code = match cache.find_code(&wasmtime, &key) {
            Some(code) => code,
            None => cache.keep_code(&key, wasmtime::Module::new(&wasmtime, &code).map_err(Error::Engine)?),
        };
        Ok(Self { first_memory, key, ..Self::linked(wasmtime, &code, slots, config.meters_fuel)? })
    }

    /// The engine of a worker: from code that another process of this program has compiled.
    pub(crate) fn of_code(warm_slots: usize, meters_fuel: bool, file: File) -> Result<Self, Error> {
        let slots = Slots::new(warm_slots);
        let wasmtime = wasmtime::Engine::new(&settings(warm_slots, meters_fuel, &slots)).map_err(Error::Engine)?;
        #[expect(unsafe_code, reason = "the file is the host's")]
        // SAFETY: the host is this program as well, and has compiled the code or checked it.
        let code = unsafe { wasmtime::Module::deserialize_open_file(&wasmtime, file) }.map_err(Error::Engine)?;
        Self::linked(wasmtime, &code, slots, meters_fuel)
    }

    /// Links the code to the host functions.
    fn linked(
        wasmtime: wasmtime::Engine,
        code: &wasmtime::Module,
        slots: Slots,
        meters_fuel: bool,
    ) -> Result<Self, Error> {
        let code = wall::linker(&wasmtime).and_then(|linker| linker.instantiate_pre(code)).map_err(Error::Engine)?;
        let export = |name| code.module().get_export_index(name).ok_or(Error::Shim("it lacks an export"));
        let (memory, realloc) = (export("memory")?, export("cabi_realloc")?);
        Ok(Self { wasmtime, code, memory, realloc, slots, first_memory: Vec::new(), key: [0; 32], meters_fuel })
    }

    /// The compiled code as a file, for a worker to map.
    pub(crate) fn code_file(&self, cache: &Cache) -> Result<File, Error> {
        if let Some(file) = cache.open_code(&self.key) {
            return Ok(file);
        }
        let code = self.code.module().serialize().map_err(Error::Engine)?;
        let mut file = tempfile::tempfile().map_err(Error::Memory)?;
        file.write_all(&code).and_then(|()| file.rewind()).map_err(Error::Memory)?;
        Ok(file)
    }
}

fn settings(warm_slots: usize, meters_fuel: bool, slots: &Slots) -> wasmtime::Config {
    let mut settings = wasmtime::Config::new();
    settings
        .consume_fuel(meters_fuel)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_reservation(RESERVED_BYTES as u64)
        .memory_guard_size(GUARD_BYTES as u64)
        .max_wasm_stack(MACHINE_STACK_BYTES)
        .async_stack_size(MACHINE_STACK_BYTES + (256 << 10))
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .allocation_strategy(InstanceAllocationStrategy::OnDemand)
        .with_host_memory(Arc::new(slots.clone()))
        .with_host_stack(Arc::new(Stacks::new(warm_slots)));
    settings
}

/// `code` is hashed beside the shim it was made of, because another version may make something else of it.
fn engine_key(engine: &wasmtime::Engine, code: &[u8]) -> [u8; 32] {
    /// `Hash` is the only view wasmtime gives of what makes two engines compatible.
    struct Sink(blake3::Hasher);
    impl std::hash::Hasher for Sink {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut sink = Sink(blake3::Hasher::new());
    sink.0.update(SHIM).update(code).update(env!("CARGO_PKG_VERSION").as_bytes());
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut sink);
    sink.0.finalize().into()
}
