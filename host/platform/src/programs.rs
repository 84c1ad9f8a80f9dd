//! Linked programs, read from the store and kept at hand.
//!
//! A program is named by its content, so an entry never goes stale; the bound is on their bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use metrics::{CacheUse, Family, of_caches};
use store::{Lookup, Store, Tenant};

use crate::ports::{Program, ProgramHandle, ReadProgram, SandboxError};
use crate::records::{Origin, RecordError, names, table};
use crate::{Error, Platform};

pub struct Programs {
    held: Mutex<ProgramCache>,
    limit_bytes: usize,
    uses: CacheUse,
}

#[derive(Default)]
struct ProgramCache {
    by_digest: HashMap<String, Arc<Program>>,
    /// Oldest first.
    order: VecDeque<String>,
    size_bytes: usize,
}

// === impl Programs ===

impl Default for Programs {
    /// A few hundred components with large packages.
    fn default() -> Self {
        Self::with_limit(256 << 20)
    }
}

impl Programs {
    pub fn with_limit(limit_bytes: usize) -> Self {
        Self { held: Mutex::default(), limit_bytes, uses: CacheUse::default() }
    }

    async fn find(&self, store: &dyn Store, owner: &Tenant, digest: &str) -> Result<Arc<Program>, Error> {
        let held = self.lock().by_digest.get(digest).cloned();
        self.uses.note(held.is_some());
        if let Some(program) = held {
            return Ok(program);
        }
        let found = table::find::<Program>(store, owner, Lookup::Id(digest)).await?;
        // A component is committed together with its program.
        let found = found.ok_or(RecordError::Gone { kind: "program" })?;
        let program = Arc::new(found.record);
        self.lock().hold(digest, &program, self.limit_bytes);
        Ok(program)
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let (entries, bytes) = {
            let held = self.lock();
            (held.order.len() as u64, held.size_bytes as u64)
        };
        of_caches("programs", &self.uses, (Some(entries), Some(bytes)))
    }

    fn lock(&self) -> MutexGuard<'_, ProgramCache> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Platform ===

impl Platform {
    /// The program of a tenant, or of the registry.
    pub(crate) fn program(&self, tenant: &Tenant, origin: Origin, digest: &str) -> ProgramHandle {
        let owner = match origin {
            Origin::Own => tenant.clone(),
            Origin::Registry => names::operator(),
        };
        let digest: Arc<str> = digest.into();
        let stored = StoredProgram { platform: self.clone(), owner, digest: digest.clone() };
        ProgramHandle { digest, stored: Arc::new(stored) }
    }
}

/// Where a program is.
struct StoredProgram {
    platform: Platform,
    owner: Tenant,
    digest: Arc<str>,
}

#[async_trait]
impl ReadProgram for StoredProgram {
    async fn read(&self) -> Result<Arc<Program>, SandboxError> {
        let Self { platform, owner, digest } = self;
        let found = platform.programs.find(&*platform.store, owner, digest).await;
        found.map_err(|error| SandboxError::Unread(Box::new(error)))
    }
}

// === impl ProgramCache ===

impl ProgramCache {
    fn hold(&mut self, digest: &str, program: &Arc<Program>, limit_bytes: usize) {
        if self.by_digest.insert(digest.to_owned(), program.clone()).is_some() {
            return;
        }
        self.order.push_back(digest.to_owned());
        self.size_bytes += size_bytes(program);
        while self.size_bytes > limit_bytes && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|oldest| self.by_digest.remove(&oldest));
            self.size_bytes -= oldest.map_or(0, |program| size_bytes(&program));
        }
    }
}

fn size_bytes(program: &Program) -> usize {
    program.modules.iter().map(|(path, module)| path.len() + module.source.len()).sum()
}

#[cfg(test)]
mod tests;
