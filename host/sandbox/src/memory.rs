//! The memory limit of a run, over all memories of its store together.

use wasmtime::ResourceLimiter;

use crate::wall::Stop;

/// Counts what a run has and refuses what is too much.
///
/// A refused growth ends the run at once. Returning -1 to the guest instead would leave it in QuickJS's paths for
/// exhausted memory, which a component could catch and probe.
#[derive(Debug)]
pub(crate) struct MemoryUse {
    pub(crate) bytes: usize,
    pub(crate) limit_bytes: usize,
}

impl ResourceLimiter for MemoryUse {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        if bytes > self.limit_bytes {
            return Err(Stop::OutOfMemory.into());
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, _desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // The shim's table is fixed; instantiation asks once.
        Ok(true)
    }
}
