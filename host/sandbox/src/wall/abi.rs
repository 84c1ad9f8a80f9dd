//! Reading arguments out of guest memory and writing results into it, after the canonical ABI.

use std::borrow::Cow;

use serde_json::value::RawValue;

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

    /// JSON text as data, checked.
    pub(super) fn json<T: serde::de::DeserializeOwned>(self, memory: &[u8], function: &'static str) -> Result<T, Stop> {
        serde_json::from_str(&replace_surrogates(self.text(memory, function)?))
            .map_err(|_| Stop::BadArgument { function, problem: "text that is not the JSON it should be" })
    }

    /// JSON text as it is, checked.
    pub(super) fn raw_json(self, memory: &[u8], function: &'static str) -> Result<Box<RawValue>, Stop> {
        RawValue::from_string(replace_surrogates(self.text(memory, function)?).into_owned())
            .map_err(|_| Stop::BadArgument { function, problem: "text that is not JSON" })
    }
}

/// JavaScript may hold half of a surrogate pair, and writes it into JSON as an escape that is no character. Whole pairs
/// are never escaped, so every such escape becomes the replacement character and all readers agree on the text.
pub(crate) fn replace_surrogates(json: &str) -> Cow<'_, str> {
    if !json.contains(r"\ud") {
        return Cow::Borrowed(json);
    }
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape, after)) = split_at_escape(rest) {
        clean.push_str(before);
        clean.push_str(if is_surrogate(escape) { r"\ufffd" } else { escape });
        rest = after;
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

fn split_at_escape(json: &str) -> Option<(&str, &str, &str)> {
    let (before, from_escape) = json.split_at(json.find('\\')?);
    let length = if from_escape.starts_with(r"\u") { 6 } else { 2 };
    let (escape, after) = from_escape.split_at_checked(length)?;
    Some((before, escape, after))
}

/// QuickJS writes escapes in lower case; a guest that does otherwise is not QuickJS, and its text is refused as JSON.
fn is_surrogate(escape: &str) -> bool {
    matches!(escape.as_bytes(), [b'\\', b'u', b'd', b'8' | b'9' | b'a'..=b'f', _, _])
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
