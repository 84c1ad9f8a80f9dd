//! QuickJS as machine code, which this program carries: compiled when the shim changes (`host/engine`), never by a server.

use std::sync::{Arc, Mutex, PoisonError};

use ::engine::{STACK_POINTER_EXPORT, settings};
use wasmtime::{CustomCodeMemory, InstanceAllocationStrategy, InstancePre, Module, ModuleExport};

use crate::region;
use crate::run::Run;
use crate::sandbox::{Error, INVOKE};
use crate::slots::{NextSlot, Slots};
use crate::stacks::Stacks;
use crate::wall;

/// The C stack of the guest is at most 1 MiB of linear memory, and QuickJS checks it; machine frames of
/// compiled code need more room for the same depth, so that QuickJS's own check comes first.
const MACHINE_STACK_BYTES: usize = 3 << 20;

/// Page by page in the program's file, so that pages of it can be made executable where they are mapped. Large enough for the
/// pages of any machine.
#[repr(C, align(65536))]
struct Pages<T: ?Sized>(T);

/// The committed build of `guest-shim/`, compiled.
static CODE: &Pages<[u8]> = &Pages(*include_bytes!(concat!(env!("OUT_DIR"), "/code")));
/// Memory as the data segments of the shim leave it.
pub(crate) static FIRST_MEMORY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/first-memory"));
/// What both were made of.
const RECORD: &str = include_str!(concat!(env!("OUT_DIR"), "/record"));

/// The compiled engine with everything a run links it to.
pub(crate) struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    /// The code, linked to the host functions: an instance of it lacks nothing but its memory.
    pub(crate) code: InstancePre<Run>,
    /// Those of its exports that every run needs.
    pub(crate) memory: ModuleExport,
    pub(crate) realloc: ModuleExport,
    pub(crate) invoke: ModuleExport,
    pub(crate) stack_pointer: ModuleExport,
    pub(crate) slots: Slots,
    /// Distinguishes every image of another shim.
    pub(crate) key: [u8; 32],
}

/// The code as wasmtime has it. One for the process: wasmtime finds code by its address, and this has only one.
#[derive(Clone)]
struct Loaded {
    wasmtime: wasmtime::Engine,
    code: Module,
    stacks: Stacks,
}

static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

// === impl Engine ===

impl Engine {
    pub(crate) fn new(warm_slots: usize) -> Result<Self, Error> {
        let Loaded { wasmtime, code, stacks } = Loaded::of_process().map_err(Error::Engine)?;
        stacks.keep(warm_slots);
        let code = wall::linker(&wasmtime).and_then(|linker| linker.instantiate_pre(&code)).map_err(Error::Engine)?;
        let export = |name| code.module().get_export_index(name).ok_or(Error::Shim("it lacks an export"));
        Ok(Self {
            memory: export("memory")?,
            realloc: export("cabi_realloc")?,
            invoke: export(INVOKE)?,
            stack_pointer: export(STACK_POINTER_EXPORT)?,
            slots: Slots::new(warm_slots),
            key: key(),
            wasmtime,
            code,
        })
    }
}

// === impl Loaded ===

impl Loaded {
    fn of_process() -> wasmtime::Result<Self> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loaded {
            return Ok(loaded.clone());
        }
        Ok(loaded.insert(Self::load()?).clone())
    }

    fn load() -> wasmtime::Result<Self> {
        let stacks = Stacks::default();
        let mut settings = settings();
        settings
            .max_wasm_stack(MACHINE_STACK_BYTES)
            .async_stack_size(MACHINE_STACK_BYTES + (256 << 10))
            .allocation_strategy(InstanceAllocationStrategy::OnDemand)
            .with_custom_code_memory(Some(Arc::new(InProgram)))
            .with_host_memory(Arc::new(NextSlot))
            .with_host_stack(Arc::new(stacks.clone()));
        let wasmtime = wasmtime::Engine::new(&settings)?;
        #[expect(unsafe_code, reason = "the code is part of this program, and is trusted as the rest of it is")]
        // SAFETY: it was made by `make-engine`, is never written, and lives as long as the process.
        let code = unsafe { Module::deserialize_raw(&wasmtime, (&CODE.0).into()) }?;
        Ok(Self { wasmtime, code, stacks })
    }
}

/// Code that is mapped with the program: nothing is copied, and the processes of a program share its pages.
struct InProgram;

impl CustomCodeMemory for InProgram {
    fn required_alignment(&self) -> usize {
        region::MACHINE_PAGE_BYTES
    }

    fn publish_executable(&self, start: *const u8, length: usize) -> wasmtime::Result<()> {
        Ok(region::make_executable(start, length)?)
    }

    /// It stays executable: the code is never unloaded.
    fn unpublish_executable(&self, _: *const u8, _: usize) -> wasmtime::Result<()> {
        Ok(())
    }
}

fn key() -> [u8; 32] {
    blake3::Hasher::new().update(RECORD.as_bytes()).update(env!("CARGO_PKG_VERSION").as_bytes()).finalize().into()
}

#[cfg(test)]
mod tests;
