//! The memory of a run, over all memories of its store together: its own limit, and its tenant's share of what all runs have.

use std::sync::Arc;

use admission::{Full, Pool, Taken};
use wasmtime::ResourceLimiter;

use crate::wall::Stop;

/// What a run may add to its image without it being counted: most add less.
const FREE_BYTES: usize = 1 << 20;

/// Counts what a run has and refuses what is too much.
///
/// A refused growth ends the run at once. Returning -1 to the guest instead would leave it in QuickJS's paths for
/// exhausted memory, which a component could catch and probe.
pub(crate) struct MemoryUse {
    pub(crate) bytes: usize,
    pub(crate) limit_bytes: usize,
    /// None for what is the host's own, and in worker processes, which have bounds of their own.
    pub(crate) share: Option<MemoryShare>,
}

/// What a run adds to its image, counted with that of all other runs.
pub(crate) struct MemoryShare {
    pool: Pool,
    tenant: Arc<str>,
    image_bytes: usize,
    taken: Option<Taken>,
}

// === impl MemoryShare ===

impl MemoryShare {
    pub(crate) fn new(pool: Pool, tenant: &str, image_bytes: usize) -> Self {
        Self { pool, tenant: tenant.into(), image_bytes, taken: None }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Full> {
        let counted = bytes.saturating_sub(self.image_bytes.saturating_add(FREE_BYTES)) as u64;
        match &mut self.taken {
            Some(taken) => taken.grow(counted.saturating_sub(taken.amount())),
            None if counted > 0 => self.pool.take(&self.tenant, counted).map(|taken| self.taken = Some(taken)),
            None => Ok(()),
        }
    }
}

impl ResourceLimiter for MemoryUse {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        if bytes > self.limit_bytes {
            return Err(Stop::OutOfMemory.into());
        }
        if let Some(share) = &mut self.share {
            share.count(bytes).map_err(Stop::Full)?;
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, _desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // The shim's table is fixed; instantiation asks once.
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use admission::{Pool, Share};
    use wasmtime::ResourceLimiter;

    use super::{FREE_BYTES, MemoryShare, MemoryUse};

    const MIB: usize = 1 << 20;

    fn run(pool: &Pool, tenant: &str) -> MemoryUse {
        let share = Some(MemoryShare::new(pool.clone(), tenant, 4 * MIB));
        MemoryUse { bytes: 4 * MIB, limit_bytes: 128 * MIB, share }
    }

    fn grow(run: &mut MemoryUse, to: usize) -> bool {
        let from = run.bytes;
        run.memory_growing(from, to, None).is_ok()
    }

    #[test]
    fn what_runs_of_a_tenant_add_to_their_images_is_counted_together_and_given_back() {
        let pool = Pool::new("run_bytes", Share::new(30 * MIB as u64, 20 * MIB as u64));
        let (mut first, mut second, mut other) = (run(&pool, "a"), run(&pool, "a"), run(&pool, "b"));
        let free = 4 * MIB + FREE_BYTES;

        assert!(grow(&mut first, free) && pool.used() == 0, "what most runs add is not counted");
        assert!(grow(&mut first, free + MIB) && grow(&mut first, free + 15 * MIB));
        assert!(grow(&mut second, free + 5 * MIB) && !grow(&mut second, free + 5 * MIB + 1), "the tenant's share");
        assert!(grow(&mut other, free + 10 * MIB) && !grow(&mut other, free + 10 * MIB + 1), "what there is in all");

        drop(first);
        assert!(grow(&mut second, free + 20 * MIB));
        assert_eq!(pool.used(), 30 * MIB as u64);
    }

    #[test]
    fn the_limit_of_a_run_comes_before_its_share() {
        let pool = Pool::new("run_bytes", Share::new(1, 1));
        let mut run = run(&pool, "a");

        let refused = run.memory_growing(4 * MIB, 128 * MIB + 1, None).unwrap_err();

        assert!(refused.to_string().contains("memory limit"), "{refused}");
    }
}
