//! Memory as a module: no code, one exported memory whose data segments are a snapshot.

use wasm_encoder::{ConstExpr, DataSection, ExportKind, ExportSection, MemorySection, MemoryType, Module};

use crate::engine::PAGE_BYTES;

/// The granularity at which zeros are left out; the machine's own page.
const CHUNK_BYTES: usize = 4 << 10;

/// Encodes a snapshot. `memory` is a whole number of WebAssembly pages.
pub(crate) fn encode(memory: &[u8]) -> Vec<u8> {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: (memory.len() / PAGE_BYTES) as u64,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    let mut data = DataSection::new();
    for (offset, bytes) in runs_of_content(memory) {
        data.active(0, &ConstExpr::i32_const(offset as i32), bytes.iter().copied());
    }
    let mut module = Module::new();
    module.section(&memories).section(&exports).section(&data);
    module.finish()
}

/// Stretches of memory that hold anything but zeros, with their offsets.
fn runs_of_content(memory: &[u8]) -> Vec<(usize, &[u8])> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (index, chunk) in memory.chunks(CHUNK_BYTES).enumerate() {
        if chunk.iter().all(|byte| *byte == 0) {
            continue;
        }
        let start = index * CHUNK_BYTES;
        match runs.last_mut() {
            Some((_, end)) if *end == start => *end += chunk.len(),
            _ => runs.push((start, start + chunk.len())),
        }
    }
    runs.into_iter().filter_map(|(start, end)| Some((start, memory.get(start..end)?))).collect()
}

#[cfg(test)]
mod tests;
