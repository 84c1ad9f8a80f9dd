//! Programs in memory, bounded by their bytes. A package that several of them use is counted once, as it is there once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ports::{Module, Program};
use crate::records::Modules;

/// What a module takes beside its texts, roughly: entries of two maps, three allocations.
const MODULE_BYTES: usize = 240;

#[derive(Default)]
pub(super) struct ProgramCache {
    programs: HashMap<Arc<str>, HeldProgram>,
    packages: HashMap<String, HeldPackage>,
    size_bytes: usize,
    /// Counts uses.
    now: u64,
}

struct HeldProgram {
    program: Arc<Program>,
    packages: Vec<String>,
    size_bytes: usize,
    used_at: u64,
}

struct HeldPackage {
    modules: Arc<Modules>,
    size_bytes: usize,
    /// How many of the held programs have it.
    users: usize,
}

/// A program that was read, with the texts it shares.
pub(super) struct Assembled {
    pub(super) program: Arc<Program>,
    /// What is the program's alone: its own modules, and the places of all others.
    pub(super) own_bytes: usize,
    pub(super) packages: Vec<(String, Arc<Modules>)>,
}

// === impl ProgramCache ===

impl ProgramCache {
    pub(super) fn program(&mut self, digest: &str) -> Option<Arc<Program>> {
        self.now += 1;
        let now = self.now;
        self.programs.get_mut(digest).map(|held| {
            held.used_at = now;
            held.program.clone()
        })
    }

    pub(super) fn package(&self, digest: &str) -> Option<Arc<Modules>> {
        self.packages.get(digest).map(|held| held.modules.clone())
    }

    /// Holds a program, and drops those that were not used for longest. One that is larger than the bound is not held.
    pub(super) fn hold(&mut self, digest: &str, assembled: Assembled, limit_bytes: usize) {
        if self.programs.contains_key(digest) {
            return;
        }
        let Assembled { program, own_bytes, packages } = assembled;
        // Others would be dropped in vain.
        if own_bytes + packages.iter().map(|(_, modules)| size_of(modules)).sum::<usize>() > limit_bytes {
            return;
        }
        self.now += 1;
        self.size_bytes += own_bytes;
        for (digest, modules) in &packages {
            let size_bytes = &mut self.size_bytes;
            let held = self.packages.entry(digest.clone()).or_insert_with(|| {
                let package = HeldPackage { modules: modules.clone(), size_bytes: size_of(modules), users: 0 };
                *size_bytes += package.size_bytes;
                package
            });
            held.users += 1;
        }
        let packages = packages.into_iter().map(|(digest, _)| digest).collect();
        let held = HeldProgram { program, packages, size_bytes: own_bytes, used_at: self.now };
        self.programs.insert(digest.into(), held);
        self.shrink(limit_bytes);
    }

    pub(super) fn shrink(&mut self, limit_bytes: usize) {
        while self.size_bytes > limit_bytes {
            let oldest = self.programs.iter().min_by_key(|(_, held)| held.used_at).map(|(digest, _)| digest.clone());
            let Some(oldest) = oldest else { return };
            self.drop_program(&oldest);
        }
    }

    /// How many programs there are, and the bytes they take.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.programs.len(), self.size_bytes)
    }

    fn drop_program(&mut self, digest: &str) {
        let Some(dropped) = self.programs.remove(digest) else { return };
        self.size_bytes -= dropped.size_bytes;
        for digest in dropped.packages {
            let Some(held) = self.packages.get_mut(&digest) else { continue };
            held.users -= 1;
            if held.users == 0 {
                self.size_bytes -= held.size_bytes;
                self.packages.remove(&digest);
            }
        }
    }
}

/// Of modules with their texts.
pub(super) fn size_of(modules: &Modules) -> usize {
    modules.iter().map(|(path, module)| place_bytes(path, module) + module.source.len()).sum()
}

/// Of modules whose texts are counted elsewhere.
pub(super) fn places_of(modules: &Modules) -> usize {
    modules.iter().map(|(path, module)| place_bytes(path, module)).sum()
}

fn place_bytes(path: &str, module: &Module) -> usize {
    let imports: usize = module.imports.iter().map(|(from, to)| from.len() + to.len() + 96).sum();
    path.len() + imports + MODULE_BYTES
}
