//! `wit/emit.wit`

use super::abi::{self, Slice};
use super::{Caller, Linker, within};
use crate::limits::LimitKind;
use crate::outcome::{Emit, EmitMetadata};

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap("wellspring:wall/emit@0.1.0", "emit", emit)?;
    Ok(())
}

fn emit(mut caller: Caller<'_>, event: u32, event_len: u32, metadata: u32, metadata_len: u32) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let size = event_len as usize + metadata_len as usize;
    within(run.emits.len() + 1, run.limits.emits, LimitKind::Emits)?;
    within(size, run.limits.event_bytes, LimitKind::EventBytes)?;
    within(run.emitted_bytes + size, run.limits.emitted_bytes, LimitKind::EmittedBytes)?;

    let event = Slice::new(event, event_len).raw_json(memory, "emit")?;
    let metadata: EmitMetadata = Slice::new(metadata, metadata_len).json(memory, "emit")?;
    run.emitted_bytes += size;
    run.emits.push(Emit { event, metadata });
    Ok(())
}
