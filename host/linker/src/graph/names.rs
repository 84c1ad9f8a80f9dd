//! Export names, once all modules are known: `export *` passes on what others export, and CommonJS
//! modules have, besides the names that can be told, those that importers ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::{ParsedFiles, is_own, placed};
use crate::{
    error::LinkError,
    linked::{Module, ModuleKind},
    modules::{Parsed, RequestKind},
};

/// Fills in `export_names`, and checks what the component's own ES modules import from each other and
/// from ES modules in packages.
pub(super) fn settle(modules: &mut BTreeMap<String, Module>, parsed: &ParsedFiles) -> Result<(), LinkError> {
    let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, module) in modules.iter() {
        for found in parsed.get(path).iter().flat_map(|parsed| &parsed.found) {
            if let Some(target) = module.imports.get(&found.specifier) {
                asked.entry(target.clone()).or_default().extend(found.names.iter().cloned());
            }
        }
    }
    let exported: BTreeMap<String, Exported> =
        modules.keys().map(|path| (path.clone(), exported(path, modules, parsed))).collect();
    check_own(modules, parsed, &exported)?;
    for (path, module) in modules.iter_mut() {
        let mut names = exported.get(path).map(|exported| exported.names.clone()).unwrap_or_default();
        if !is_es_module(module) {
            names.extend(asked.remove(path).unwrap_or_default());
        }
        module.export_names = names.into_iter().collect();
    }
    Ok(())
}

#[derive(Default)]
struct Exported {
    names: BTreeSet<String>,
    /// Whether there can be no others.
    is_complete: bool,
}

fn is_es_module(module: &Module) -> bool {
    module.is_lowered || module.kind == ModuleKind::Esm
}

/// Follows `export *` without recursion, for chains of them can be long.
fn exported(path: &str, modules: &BTreeMap<String, Module>, parsed: &ParsedFiles) -> Exported {
    let mut result = Exported { names: BTreeSet::new(), is_complete: true };
    let mut seen = BTreeSet::from([path.to_owned()]);
    let mut pending = vec![path.to_owned()];
    while let Some(current) = pending.pop() {
        let (Some(module), Some(file)) = (modules.get(&current), parsed.get(&current)) else {
            result.is_complete = false;
            continue;
        };
        result.is_complete &= is_es_module(module);
        let names = file.exports.names.iter().filter(|name| current == path || *name != "default");
        result.names.extend(names.cloned());
        for specifier in &file.exports.stars {
            match module.imports.get(specifier) {
                Some(target) if seen.insert(target.clone()) => pending.push(target.clone()),
                Some(_) => {}
                None => result.is_complete = false,
            }
        }
    }
    result
}

fn check_own(
    modules: &BTreeMap<String, Module>,
    parsed: &ParsedFiles,
    exported: &BTreeMap<String, Exported>,
) -> Result<(), LinkError> {
    let own = modules.iter().filter(|(path, _)| is_own(path));
    for (path, module, file) in own.filter_map(|(path, module)| Some((path, module, parsed.get(path)?))) {
        check_imports(path, module, file, exported)?;
    }
    Ok(())
}

fn check_imports(
    path: &str,
    module: &Module,
    file: &Parsed,
    exported: &BTreeMap<String, Exported>,
) -> Result<(), LinkError> {
    for (found, position) in file.requests().filter(|(found, _)| found.kind == RequestKind::Import) {
        let target = module.imports.get(&found.specifier).and_then(|target| exported.get(target));
        let Some(target) = target.filter(|target| target.is_complete) else { continue };
        if let Some(name) = found.names.iter().find(|name| !target.names.contains(*name)) {
            let (name, specifier) = (name.clone(), found.specifier.clone());
            let error = LinkError::MissingExport { name, specifier, importer: path.to_owned() };
            return Err(placed(error, path, position));
        }
    }
    Ok(())
}
