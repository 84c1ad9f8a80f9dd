//! Reading arguments out of guest memory and writing results into it, after the canonical ABI.

use super::{Caller, Stop};
use crate::run::Run;

/// A list or text argument: where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) pointer: u32,
    pub(super) length: u32,
}

/// Where a function's result goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReturnArea(pub(super) u32);

// === impl Slice ===

impl Slice {
    pub(super) fn new(pointer: u32, length: u32) -> Self {
        Self { pointer, length }
    }

    pub(super) fn bytes<'m>(self, memory: &'m [u8], function: &'static str) -> Result<&'m [u8], Stop> {
        let start = self.pointer as usize;
        start
            .checked_add(self.length as usize)
            .and_then(|end| memory.get(start..end))
            .ok_or(Stop::BadArgument { function, problem: "bytes outside of its memory" })
    }

    pub(super) fn text<'m>(self, memory: &'m [u8], function: &'static str) -> Result<&'m str, Stop> {
        std::str::from_utf8(self.bytes(memory, function)?)
            .map_err(|_| Stop::BadArgument { function, problem: "text that is not UTF-8" })
    }

    /// JSON text, checked.
    pub(super) fn json<'m, T: serde::Deserialize<'m>>(
        self,
        memory: &'m [u8],
        function: &'static str,
    ) -> Result<T, Stop> {
        serde_json::from_str(self.text(memory, function)?)
            .map_err(|_| Stop::BadArgument { function, problem: "text that is not the JSON it should be" })
    }
}

/// The guest's memory beside the state of its run.
pub(super) fn split<'a>(caller: &'a mut Caller<'_>) -> Result<(&'a mut [u8], &'a mut Run), Stop> {
    let memory = caller.data().memory.ok_or(Stop::BadArgument { function: "the wall", problem: "no memory" })?;
    Ok(memory.data_and_store_mut(caller))
}

/// Writes little-endian words from `area` on.
pub(super) fn write_words(memory: &mut [u8], area: ReturnArea, words: &[u32]) -> Result<(), Stop> {
    let start = area.0 as usize;
    let target = start.checked_add(words.len() * 4).and_then(|end| memory.get_mut(start..end));
    let target =
        target.ok_or(Stop::BadArgument { function: "the wall", problem: "a result area outside of its memory" })?;
    for (slot, word) in target.chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    Ok(())
}

/// Copies `bytes` into memory the guest allocates for them.
pub(super) async fn allocate(caller: &mut Caller<'_>, bytes: &[u8]) -> wasmtime::Result<Slice> {
    let length = u32::try_from(bytes.len()).map_err(|_| Stop::OutOfMemory)?;
    let Some(realloc) = caller.data().realloc.clone() else {
        return Err(Stop::BadArgument { function: "the wall", problem: "no allocator" }.into());
    };
    let pointer = realloc.call_async(&mut *caller, (0, 0, 1, length)).await?;
    let (memory, _) = split(caller)?;
    let start = pointer as usize;
    let target = start.checked_add(bytes.len()).and_then(|end| memory.get_mut(start..end));
    target
        .ok_or(Stop::BadArgument { function: "the wall", problem: "an allocation outside of its memory" })?
        .copy_from_slice(bytes);
    Ok(Slice { pointer, length })
}

/// Returns an `option<string>` (or `option<list<u8>>`).
pub(super) async fn return_option(
    caller: &mut Caller<'_>,
    area: ReturnArea,
    value: Option<&[u8]>,
) -> wasmtime::Result<()> {
    let words = match value {
        Some(bytes) => {
            let Slice { pointer, length } = allocate(caller, bytes).await?;
            [1, pointer, length]
        }
        None => [0, 0, 0],
    };
    let (memory, _) = split(caller)?;
    Ok(write_words(memory, area, &words)?)
}

#[cfg(test)]
mod tests;
