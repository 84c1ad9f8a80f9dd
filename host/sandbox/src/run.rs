//! One run: the state beside an instance, and the instance's way from its image to its outcome.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::engine::PAGE_BYTES;
use futures_util::FutureExt;
use indexmap::IndexMap;
use serde_json::value::RawValue;
use tokio::time::Instant;
use wasmtime::{Global, Instance, Memory, ResourceLimiter, Store, Trap, TypedFunc};

use crate::compile::Compiler;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::memory::{MemoryShare, MemoryUse};
use crate::meter::run_metered;
use crate::offline::Offline;
use crate::outcome::{Effect, Emit, Fault, LogLine, Outcome, Thrown, Usage, Write};
use crate::program::Sources;
use crate::sandbox::{Error, INVOKE};
use crate::services::Services;
use crate::slots::Lent;
use crate::snapshot::{Snapshot, stored_bytes};
use crate::tape::Tape;
use crate::wall::fetch::Fetches;
use crate::wall::{Stop, replace_surrogates};

/// A guest gives way after this much fuel, some forty microseconds; `meter.rs` decides whether others have a turn then. Most runs end
/// before: with less they took turns under full load, and so many were under way that their tenant had no share left.
const FUEL_PER_TURN: u64 = 125_000;

/// The state that the host functions work on.
pub(crate) struct Run {
    pub(crate) services: Arc<dyn Services>,
    pub(crate) limits: Limits,
    pub(crate) program: Option<Sources>,
    /// While a component is loading: compiles its modules elsewhere.
    pub(crate) compiler: Option<Compiler>,
    pub(crate) started: Instant,
    pub(crate) memory: Option<Memory>,
    pub(crate) realloc: Option<Realloc>,
    pub(crate) emits: Vec<Emit>,
    pub(crate) emitted_bytes: usize,
    pub(crate) writes: IndexMap<String, Option<String>>,
    pub(crate) written_bytes: usize,
    pub(crate) logs: Vec<LogLine>,
    pub(crate) logged_bytes: usize,
    pub(crate) effects: Vec<Effect>,
    pub(crate) has_replied: bool,
    pub(crate) fetches: Fetches,
    pub(crate) tape: Tape,
    pub(crate) last_words: String,
    memory_use: MemoryUse,
}

pub(crate) type Realloc = TypedFunc<(u32, u32, u32, u32), u32>;
/// Takes a text.
type Call = TypedFunc<(u32, u32), u32>;

/// An instance with its store, for one run after the other.
pub(crate) struct Instantiated {
    store: Store<Run>,
    instance: Instance,
    exports: Exports,
}

/// What every run needs of its instance, so that it looks up no names.
#[derive(Clone)]
struct Exports {
    memory: Memory,
    realloc: Realloc,
    invoke: Call,
    stack_pointer: Global,
}

/// An instance that has a run. Used for one call, and kept for another run or thrown away.
pub(crate) struct Started {
    pub(crate) store: Store<Run>,
    pub(crate) instance: Instance,
    pub(crate) memory: Memory,
    exports: Exports,
    cpu: Duration,
    /// The last call of the guest came back: it was not stopped in the middle of something.
    has_returned: bool,
    /// Goes last: it is lent again when the instance has ended.
    slot: Lent,
}

/// How a call of the guest ended.
pub(crate) type CallResult = Result<Result<String, Thrown>, Fault>;

// === impl Run ===

impl Run {
    #[expect(clippy::disallowed_methods, reason = "measures the run")]
    pub(crate) fn new(services: Arc<dyn Services>, limits: Limits, program: Option<Sources>) -> Self {
        Self {
            services,
            program,
            compiler: None,
            started: Instant::now(),
            memory: None,
            realloc: None,
            emits: Vec::new(),
            emitted_bytes: 0,
            writes: IndexMap::new(),
            written_bytes: 0,
            logs: Vec::new(),
            logged_bytes: 0,
            effects: Vec::new(),
            has_replied: false,
            fetches: Fetches::default(),
            tape: Tape::recording(limits.recording_bytes),
            last_words: String::new(),
            memory_use: MemoryUse { bytes: 0, limit_bytes: limits.memory_bytes, share: None },
            limits,
        }
    }

    /// Of an instance without one.
    fn none() -> Self {
        static SERVICES: LazyLock<Arc<dyn Services>> = LazyLock::new(|| Arc::new(Offline::default()));
        Self::new(SERVICES.clone(), Limits { memory_bytes: usize::MAX, ..Limits::default() }, None)
    }

    /// Counts its memory with that of all other runs.
    pub(crate) fn share_memory(&mut self, share: MemoryShare) {
        self.memory_use.share = Some(share);
    }

    /// What it has written and not flushed; of a replay, all that it has written.
    pub(crate) fn take_writes(&mut self) -> Vec<Write> {
        let mut writes = self.tape.take_flushed();
        match writes.is_empty() {
            true => std::mem::swap(&mut writes, &mut self.writes),
            false => writes.extend(self.writes.drain(..)),
        }
        writes.into_iter().map(|(key, value)| Write { key, value }).collect()
    }
}

// === impl Instantiated ===

impl Instantiated {
    /// With `slot` as its memory, which is `snapshot`.
    fn new(engine: &Engine, snapshot: &Snapshot, slot: &Lent) -> Result<Self, Error> {
        let mut store = Store::new(&engine.wasmtime, Run::none());
        store.limiter(|run| &mut run.memory_use);
        // Nothing runs yet that could wait.
        let instance = slot.instantiate(|| engine.code.instantiate_async(&mut store).now_or_never());
        let instance = instance.ok_or(Error::Shim("it has a start function"))?.map_err(Error::Instantiate)?;
        let exports = Exports::of(engine, instance, &mut store)?;
        let missing_pages = (snapshot.length() - exports.memory.data_size(&store)) / PAGE_BYTES;
        exports.memory.grow(&mut store, missing_pages as u64).map_err(Error::Instantiate)?;
        store.set_fuel(0).map_err(Error::Engine)?;
        store.fuel_async_yield_interval(Some(FUEL_PER_TURN)).map_err(Error::Engine)?;
        Ok(Self { store, instance, exports })
    }
}

// === impl Exports ===

impl Exports {
    fn of(engine: &Engine, instance: Instance, store: &mut Store<Run>) -> Result<Self, Error> {
        let mut export = |index, what| instance.get_module_export(&mut *store, index).ok_or(Error::Shim(what));
        let memory = export(&engine.memory, "it has no memory")?.into_memory();
        let realloc = export(&engine.realloc, "it has no allocator")?.into_func();
        let invoke = export(&engine.invoke, "it cannot be called")?.into_func();
        let stack_pointer = export(&engine.stack_pointer, "it has no stack")?.into_global();
        let missing = || Error::Shim("an export is not what it should be");
        let (realloc, invoke) = (realloc.ok_or_else(missing)?, invoke.ok_or_else(missing)?);
        Ok(Self {
            memory: memory.ok_or_else(missing)?,
            realloc: realloc.typed(&*store).map_err(Error::Engine)?,
            invoke: invoke.typed(&*store).map_err(Error::Engine)?,
            stack_pointer: stack_pointer.ok_or_else(missing)?,
        })
    }

    fn has_empty_stack(&self, store: &mut Store<Run>) -> bool {
        self.stack_pointer.get(store).i32() == Some(STACK_BYTES as i32)
    }
}

// === impl Started ===

impl Started {
    /// An instance whose memory is `snapshot`, and in which nothing has run since.
    pub(crate) fn new(engine: &Engine, snapshot: &Arc<Snapshot>, run: Run) -> Result<Self, Error> {
        let (slot, instantiated) = engine.slots.lend(snapshot).map_err(Error::Memory)?;
        let instantiated = match instantiated {
            Some(instantiated) => instantiated,
            None => Instantiated::new(engine, snapshot, &slot)?,
        };
        let Instantiated { store, instance, exports } = instantiated;
        let memory = exports.memory;
        let mut started = Self { store, instance, memory, exports, cpu: Duration::ZERO, has_returned: false, slot };
        started.begin(run)?;
        Ok(started)
    }

    /// With a run of its own, on memory as it is.
    pub(crate) fn begin(&mut self, mut run: Run) -> Result<(), Error> {
        let bytes = self.memory.data_size(&self.store);
        run.memory_use.memory_growing(0, bytes, None).map_err(Error::Instantiate)?;
        (run.memory, run.realloc) = (Some(self.memory), Some(self.exports.realloc.clone()));
        let fuel = run.limits.fuel;
        *self.store.data_mut() = run;
        (self.cpu, self.has_returned) = (Duration::ZERO, false);
        self.store.set_fuel(fuel).map_err(Error::Engine)
    }

    /// Ends the run. The instance is kept for another one of its image when nothing but its memory can have changed, which is
    /// restored.
    pub(crate) fn rest(self) {
        let Self { mut store, instance, exports, has_returned, slot, .. } = self;
        if !has_returned || !exports.has_empty_stack(&mut store) {
            // In this order.
            drop(store);
            return drop(slot);
        }
        *store.data_mut() = Run::none();
        slot.give_back_with(Instantiated { store, instance, exports });
    }

    /// Calls an export without parameters or result.
    pub(crate) async fn call_plain(&mut self, name: &str) -> Result<Result<(), Fault>, Error> {
        let function = self.instance.get_typed_func::<(), ()>(&mut self.store, name).map_err(Error::Engine)?;
        let limit = self.store.data().limits.wall_clock;
        let (done, cpu) = run_metered(function.call_async(&mut self.store, ()), limit).await;
        self.cpu += cpu;
        match done {
            Some(Ok(())) => Ok(Ok(())),
            Some(Err(error)) => self.fault(error).map(Err),
            None => Ok(Err(Fault::Deadline { limit })),
        }
    }

    /// Calls an export of `wit/component.wit` that takes a text and returns a `result` of texts.
    pub(crate) async fn call(&mut self, name: &str, input: Option<&str>) -> Result<CallResult, Error> {
        let limit = self.store.data().limits.wall_clock;
        let (done, cpu) = run_metered(self.call_text(name, input), limit).await;
        self.cpu += cpu;
        self.has_returned = matches!(done, Some(Ok(_)));
        match done {
            Some(Ok(area)) => self.result(area).map(Ok),
            Some(Err(error)) => self.fault(error).map(Err),
            None => Ok(Err(Fault::Deadline { limit })),
        }
    }

    async fn call_text(&mut self, name: &str, input: Option<&str>) -> wasmtime::Result<u32> {
        let Some(input) = input else {
            let function = self.instance.get_typed_func::<(), u32>(&mut self.store, name)?;
            return function.call_async(&mut self.store, ()).await;
        };
        let function = match name {
            INVOKE => self.exports.invoke.clone(),
            name => self.instance.get_typed_func(&mut self.store, name)?,
        };
        let length = u32::try_from(input.len()).map_err(|_| Stop::OutOfMemory)?;
        let pointer = self.exports.realloc.call_async(&mut self.store, (0, 0, 1, length)).await?;
        self.memory.write(&mut self.store, pointer as usize, input.as_bytes())?;
        function.call_async(&mut self.store, (pointer, length)).await
    }

    /// Reads a `result<string, string>`: a discriminant, then pointer and length.
    fn result(&self, area: u32) -> Result<Result<String, Thrown>, Error> {
        let memory = self.memory.data(&self.store);
        let word = |at: usize| -> Option<u32> {
            let start = (area as usize).checked_add(at)?;
            Some(u32::from_le_bytes(memory.get(start..start + 4)?.try_into().ok()?))
        };
        let text = || -> Option<&str> {
            let (start, length) = (word(4)? as usize, word(8)? as usize);
            std::str::from_utf8(memory.get(start..start.checked_add(length)?)?).ok()
        };
        match word(0).map(|discriminant| discriminant & 0xff) {
            Some(0) => Ok(Ok(replace_surrogates(text().unwrap_or("null")).into_owned())),
            Some(1) => Ok(Err(Thrown::from_json(text().ok_or(Error::Shim("an error is not text"))?))),
            _ => Err(Error::Shim("a result is neither ok nor error")),
        }
    }

    /// Tells a failure of the component (a fault) from a failure of the host (an error).
    fn fault(&mut self, error: wasmtime::Error) -> Result<Fault, Error> {
        let limits = self.store.data().limits;
        let error = match error.downcast::<Stop>() {
            Ok(Stop::OutOfMemory) => return Ok(Fault::OutOfMemory { limit_bytes: limits.memory_bytes }),
            Ok(Stop::Full(full)) => return Err(Error::Overloaded(full)),
            Ok(Stop::TooMuchOutput { what, limit }) => return Ok(Fault::TooMuchOutput { what, limit }),
            Ok(Stop::Service(error)) => return Err(Error::Service(error)),
            Ok(Stop::Diverged { asked, recorded }) => return Ok(Fault::Diverged { asked, recorded }),
            Ok(Stop::RecordingEnded) => return Ok(Fault::RecordingEnded),
            Ok(stop @ (Stop::BadArgument { .. } | Stop::Aborted(_))) => {
                return Ok(Fault::Trap { reason: stop.to_string() });
            }
            Err(error) => error,
        };
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => return Ok(Fault::OutOfFuel { limit: limits.fuel }),
            // Deep in its parser QuickJS does not ask whether there is stack left. It is the same mistake.
            Some(Trap::StackOverflow) => return Ok(Fault::Threw(Thrown::stack_exhausted())),
            _ => {}
        }
        let last_words = self.store.data().last_words.trim();
        let reason = if last_words.is_empty() { error.to_string() } else { format!("{error}: {last_words}") };
        Ok(Fault::Trap { reason })
    }

    /// Everything the run did, taken out of it.
    pub(crate) fn take_outcome(&mut self, result: CallResult) -> Outcome {
        let usage = self.usage();
        let (returned, fault) = match result {
            Ok(Ok(json)) => (RawValue::from_string(json).ok(), None),
            Ok(Err(thrown)) => (None, Some(Fault::Threw(thrown))),
            Err(fault) => (None, Some(fault)),
        };
        let run = self.store.data_mut();
        Outcome {
            returned,
            emits: std::mem::take(&mut run.emits),
            writes: run.take_writes(),
            logs: std::mem::take(&mut run.logs),
            effects: std::mem::take(&mut run.effects),
            has_replied: run.has_replied,
            recording: run.tape.finish(),
            usage,
            fault,
        }
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    pub(crate) fn usage(&self) -> Usage {
        let run = self.store.data();
        Usage {
            fuel: self.store.get_fuel().map_or(0, |left| run.limits.fuel.saturating_sub(left)),
            cpu: self.cpu,
            wall_clock: run.started.elapsed(),
            peak_memory_bytes: run.memory_use.bytes,
        }
    }

    /// Whether an image of its memory would take up more. Looked at in parts, as it is copied.
    pub(crate) async fn takes_more_than(&mut self, limit: usize) -> bool {
        let (mut at, mut stored) = (0, 0);
        while let Some(part) = self.memory().get(at..).filter(|left| !left.is_empty() && stored <= limit) {
            let part = part.get(..COPIED_AT_ONCE).unwrap_or(part);
            stored += stored_bytes(part);
            at += part.len();
            tokio::task::yield_now().await;
        }
        stored > limit
    }

    /// The memory of a guest at rest, with its stack wiped.
    ///
    /// Nothing below the stack pointer is alive between two calls, and leftovers would only make the image larger. It is copied in
    /// parts, between which others have their turn: it may be a hundred megabytes.
    pub(crate) async fn snapshot(&mut self) -> Result<Vec<u8>, Error> {
        if !self.exports.has_empty_stack(&mut self.store) {
            return Err(Error::Shim("the stack was not empty when an image was to be taken"));
        }
        let length = self.memory.data_size(&self.store);
        let mut memory = Vec::with_capacity(length);
        while memory.len() < length {
            let left = self.memory().get(memory.len()..).unwrap_or_default();
            memory.extend_from_slice(left.get(..COPIED_AT_ONCE).unwrap_or(left));
            tokio::task::yield_now().await;
        }
        memory.get_mut(..STACK_BYTES).ok_or(Error::Shim("the memory is smaller than its stack"))?.fill(0);
        Ok(memory)
    }
}

/// In a fraction of a millisecond, with the faults that new memory takes.
const COPIED_AT_ONCE: usize = 256 << 10;
/// Where the stack of the shim begins; it lies below everything else and grows down to zero.
const STACK_BYTES: usize = 1 << 20;
