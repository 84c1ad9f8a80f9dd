//! What the linker gives, as the sandbox takes it.

use linker::Linked;
use sandbox::{Module, ModuleKind, Program};

pub fn translate(linked: Linked) -> Program {
    let modules = linked.modules.into_iter().map(|(path, module)| {
        let kind = match module.kind {
            linker::ModuleKind::Json => ModuleKind::Json,
            linker::ModuleKind::CommonJs | linker::ModuleKind::Esm => ModuleKind::CommonJs,
        };
        (path, Module { kind, source: module.source, imports: module.imports })
    });
    Program { entry: linked.entry, modules: modules.collect() }
}
