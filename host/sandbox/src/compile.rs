//! Compiles the modules of a component that is loading, in an instance of their own.
//!
//! Parsing a megabyte of source leaves garbage all over a heap. Here that heap is thrown away, and the one that becomes an
//! image holds what was evaluated and nothing else. Only the text of one component ever goes into an instance, so its bytecode
//! can harm that component alone.

use std::sync::Arc;

use crate::limits::Limits;
use crate::offline::Offline;
use crate::run::{Run, Started};
use crate::sandbox::Inner;

const COMPILE: &str = "wellspring:wall/component@0.1.0#compile";
const AFTER_COMPILE: &str = "cabi_post_wellspring:wall/component@0.1.0#compile";

pub(crate) struct Compiler {
    inner: Arc<Inner>,
    limits: Limits,
    state: State,
}

enum State {
    Waiting,
    Started(Box<Started>),
    /// A limit or a trap ended it. The loading instance compiles the rest itself, and meets the same limit, which is then
    /// reported as its own.
    Ended,
}

// === impl Compiler ===

impl Compiler {
    pub(crate) fn new(inner: Arc<Inner>, limits: Limits) -> Self {
        Self { inner, limits, state: State::Waiting }
    }

    /// The module as bytecode; nothing if it does not compile, or not here.
    pub(crate) async fn compile(&mut self, path: &str, source: &str) -> Option<Vec<u8>> {
        if matches!(self.state, State::Waiting) {
            let run = Run::new(Arc::new(Offline::default()), self.limits, None);
            let started = Started::new(&self.inner.engine, &self.inner.base, run);
            self.state = started.map_or(State::Ended, |started| State::Started(Box::new(started)));
        }
        let State::Started(started) = &mut self.state else { return None };
        match compile(started, path, source).await {
            Ok(code) => code,
            Err(_) => {
                self.state = State::Ended;
                None
            }
        }
    }
}

/// An error means that the instance is not to be used again.
async fn compile(started: &mut Started, path: &str, source: &str) -> wasmtime::Result<Option<Vec<u8>>> {
    let function = started.instance.get_typed_func::<(u32, u32, u32, u32), u32>(&mut started.store, COMPILE)?;
    let (path, source) = (write(started, path).await?, write(started, source).await?);
    let area = function.call_async(&mut started.store, (path.0, path.1, source.0, source.1)).await?;
    let code = read(started.memory(), area);
    let done = started.instance.get_typed_func::<u32, ()>(&mut started.store, AFTER_COMPILE)?;
    done.call_async(&mut started.store, area).await?;
    Ok(code)
}

/// A text in memory that the guest then owns: where it lies and how long it is.
async fn write(started: &mut Started, text: &str) -> wasmtime::Result<(u32, u32)> {
    let length = u32::try_from(text.len())?;
    let realloc = started.store.data().realloc.clone().ok_or_else(|| wasmtime::Error::msg("no allocator"))?;
    let pointer = realloc.call_async(&mut started.store, (0, 0, 1, length)).await?;
    started.memory.write(&mut started.store, pointer as usize, text.as_bytes())?;
    Ok((pointer, length))
}

/// A `result<list<u8>>`: a discriminant, then pointer and length.
fn read(memory: &[u8], area: u32) -> Option<Vec<u8>> {
    let word = |at: usize| -> Option<u32> {
        let start = (area as usize).checked_add(at)?;
        Some(u32::from_le_bytes(memory.get(start..start.checked_add(4)?)?.try_into().ok()?))
    };
    if word(0)? & 0xff != 0 {
        return None;
    }
    let (start, length) = (word(4)? as usize, word(8)? as usize);
    Some(memory.get(start..start.checked_add(length)?)?.to_vec())
}
