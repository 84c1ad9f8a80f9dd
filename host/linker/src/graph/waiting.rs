//! Modules that wait: those that await outside of functions, and all that import them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Walk, parse, read};
use crate::modules::RequestKind;

// === impl Walk ===

impl Walk<'_> {
    /// Lowers the importers of modules that await once more, so that they wait for them. Which those are is known only when
    /// every module is.
    pub(super) fn lower_anew_what_waits(&mut self) {
        let volume = self.resolver.volume().clone();
        for path in self.importers_of_what_waits() {
            // It was read and parsed before; should it fail now, the module stays as it is.
            let Ok(source) = read(&volume, &path, &self.terms.limits) else { continue };
            let Ok(parsed) = parse(&volume, &path, &source, self.terms, true) else { continue };
            if let Some(module) = self.modules.get_mut(&path) {
                module.source = parsed.source;
            }
        }
    }

    /// All that import such a module, directly or through others, and do not await themselves.
    fn importers_of_what_waits(&self) -> BTreeSet<String> {
        let mut importers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (path, module) in self.modules.iter().filter(|(_, module)| module.is_lowered) {
            let found = self.parsed.get(path).into_iter().flat_map(|parsed| &parsed.found);
            let imported = found.filter(|found| found.kind == RequestKind::Import);
            for target in imported.filter_map(|found| module.imports.get(&found.specifier)) {
                importers.entry(target).or_default().push(path);
            }
        }
        let waits = |path: &str| self.modules.get(path).is_some_and(|module| module.has_top_level_await);
        let mut pending: Vec<&str> = self.modules.keys().map(String::as_str).filter(|path| waits(path)).collect();
        let mut reached = BTreeSet::new();
        while let Some(path) = pending.pop() {
            for importer in importers.get(path).into_iter().flatten() {
                if !waits(importer) && reached.insert((*importer).to_owned()) {
                    pending.push(importer);
                }
            }
        }
        reached
    }
}
