//! Linked programs: how they are stored, read and held in memory.
//!
//! A program is stored as the component's own modules and references to *package texts*: the modules it has of one package,
//! compressed, named by the digest of their content, and stored once for all components and tenants (`split.rs` divides a
//! program, `holds.rs` decides when a text may be deleted). The unit is what a program has of a package, and not a module:
//! a few hundred small modules would compress half as well and cost a read each; and not the whole archive, of which most
//! components need a part.
//!
//! What is read is checked: each package text against the digest in its reference, and the whole program against its own.
//! A digest opens nothing by itself: texts are read only through the references of a program record, which the server
//! writes after it has linked the same text for that tenant, and a program record is found only under its own tenant.
//! Files of a component are part of its program record and never shared.

mod cache;
mod convert;
mod holds;
mod split;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use metrics::{CacheUse, Family, of_caches};
use store::{Lookup, Store, Tenant};

use crate::ports::{Program, ProgramHandle, ReadProgram, SandboxError};
use crate::records::{
    Modules, Origin, PACKAGE_TEXT, PackageRef, PackageText, ProgramRecord, RecordError, Stored, names, table,
};
use crate::{Error, Platform};

use cache::{Assembled, ProgramCache};

pub use convert::{Converted, convert};
pub(crate) use holds::{Saving, forget, held_bytes, release, release_at, save};

pub struct Programs {
    held: Mutex<ProgramCache>,
    limit_bytes: AtomicUsize,
    uses: CacheUse,
    /// Programs that are being read, so that concurrent reads of one share it (single flight).
    reading: Mutex<HashMap<Arc<str>, Weak<tokio::sync::Mutex<()>>>>,
}

/// When this many programs were read, those that no longer are are forgotten.
const READING_MAXIMUM: usize = 256;

// === impl Programs ===

impl Default for Programs {
    /// Programs are read to build missing images and for modules that a run requires late: a few dozen at a time.
    fn default() -> Self {
        Self::with_limit(64 << 20)
    }
}

impl Programs {
    pub fn with_limit(limit_bytes: usize) -> Self {
        Self {
            held: Mutex::default(),
            limit_bytes: AtomicUsize::new(limit_bytes),
            uses: CacheUse::default(),
            reading: Mutex::default(),
        }
    }

    /// Changes the bound, and drops what is beyond it.
    pub fn set_limit(&self, limit_bytes: usize) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
        self.lock().shrink(limit_bytes);
    }

    async fn find(&self, store: &dyn Store, owner: &Tenant, digest: &Arc<str>) -> Result<Arc<Program>, Error> {
        let held = self.lock().program(digest);
        self.uses.note(held.is_some());
        if let Some(program) = held {
            return Ok(program);
        }
        let reading = self.reading(digest);
        let _turn = reading.lock().await;
        if let Some(program) = self.lock().program(digest) {
            return Ok(program);
        }
        let assembled = self.read(store, owner, digest).await?;
        let program = assembled.program.clone();
        self.lock().hold(digest, assembled, self.limit_bytes.load(Ordering::Relaxed));
        Ok(program)
    }

    async fn read(&self, store: &dyn Store, owner: &Tenant, digest: &str) -> Result<Assembled, Error> {
        let found = table::find::<ProgramRecord>(store, owner, Lookup::Id(digest)).await?;
        // A component is committed together with its program.
        let record = found.ok_or(RecordError::Gone { kind: ProgramRecord::KIND })?.record;
        let texts = try_join_all(record.packages.iter().map(|package| self.text(store, package))).await?;
        let packages: Vec<(PackageRef, Arc<Modules>)> = record.packages.iter().cloned().zip(texts).collect();
        assemble(digest, record, packages)
    }

    async fn text(&self, store: &dyn Store, package: &PackageRef) -> Result<Arc<Modules>, Error> {
        let digest = &package.digest;
        if let Some(held) = self.lock().package(digest) {
            return Ok(held);
        }
        let found = store.record(&names::packages(), PACKAGE_TEXT, Lookup::Id(digest)).await?;
        let stored = found.ok_or(RecordError::Gone { kind: PACKAGE_TEXT })?.value;
        let of_task = digest.clone();
        // Texts are inflated about fivefold.
        let size_bytes = stored.len().saturating_mul(5);
        let read = holds::off_thread(size_bytes, move || PackageText::read(&of_task, &stored)).await?;
        Ok(Arc::new(read?))
    }

    fn reading(&self, digest: &Arc<str>) -> Arc<tokio::sync::Mutex<()>> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = reading.get(digest).and_then(Weak::upgrade) {
            return under_way;
        }
        if reading.len() >= READING_MAXIMUM {
            reading.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::default();
        reading.insert(digest.clone(), Arc::downgrade(&turn));
        turn
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let (entries, bytes) = self.lock().held();
        let mut families = of_caches("programs", &self.uses, (Some(entries as u64), Some(bytes as u64)));
        let (help, limit) = ("What caches may hold at most", self.limit_bytes.load(Ordering::Relaxed) as u64);
        families.push(Family::gauge("wellspring_cache_limit_bytes", help).sample(&[("cache", "programs")], limit));
        families
    }

    fn lock(&self) -> MutexGuard<'_, ProgramCache> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The program of a record, if it has its digest.
fn assemble(
    digest: &str,
    record: ProgramRecord,
    packages: Vec<(PackageRef, Arc<Modules>)>,
) -> Result<Assembled, Error> {
    let is_divided = record.own.is_some();
    let mut modules = record.modules;
    if let Some(own) = &record.own {
        modules.extend(own.modules()?);
    }
    let mut own_bytes = cache::size_of(&modules);
    let mut shared = Vec::with_capacity(packages.len());
    for (PackageRef { location, digest }, package) in packages {
        let placed: Modules = split::place(&location, &package).collect();
        own_bytes += cache::places_of(&placed);
        modules.extend(placed);
        shared.push((digest, package));
    }
    let program = Program { entry: record.entry, modules };
    // Version 1 was never checked, so a digest of an older kind may be among them.
    if is_divided && program.digest() != digest {
        return Err(RecordError::Damaged { kind: ProgramRecord::KIND }.into());
    }
    Ok(Assembled { program: Arc::new(program), own_bytes, packages: shared })
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

#[cfg(test)]
mod tests;
