//! The three sides of the wall agree: `wit/`, what the shim imports and exports, and what the host provides.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wasmparser::{CompositeInnerType, ExternalKind, Parser, Payload, TypeRef, ValType};
use wasmtime::Store;
use wit_parser::abi::{AbiVariant, WasmSignature, WasmType};
use wit_parser::{Resolve, WorldItem, WorldKey};

use crate::limits::Limits;
use crate::offline::Offline;
use crate::run::Run;

/// The committed build of `guest-shim/`, which the engine is compiled from.
const SHIM: &[u8] = include_bytes!("../../../../guest-shim/shim.wasm");

type Signature = (Vec<ValType>, Vec<ValType>);
/// (interface, function) → signature.
type Functions = BTreeMap<(String, String), Signature>;

struct World {
    imports: Functions,
    exports: Functions,
}

fn world() -> World {
    let folder = Path::new("../../wit");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder).unwrap();
    let world = resolve.select_world(&[package], Some("shim")).unwrap();
    let functions = |items: Vec<(WorldKey, WorldItem)>, variant| {
        let mut functions = Functions::new();
        for (_, item) in items {
            let WorldItem::Interface { id, .. } = item else { continue };
            let interface = resolve.id_of(id).unwrap();
            for (name, function) in &resolve.interfaces[id].functions {
                let signature = resolve.wasm_signature(variant, function);
                functions.insert((interface.clone(), name.clone()), flat(&signature));
            }
        }
        functions
    };
    let world = resolve.worlds[world].clone();
    World {
        imports: functions(world.imports.into_iter().collect(), AbiVariant::GuestImport),
        exports: functions(world.exports.into_iter().collect(), AbiVariant::GuestExport),
    }
}

fn flat(signature: &WasmSignature) -> Signature {
    let flat = |types: &[WasmType]| -> Vec<ValType> {
        types
            .iter()
            .map(|kind| match kind {
                WasmType::I32 | WasmType::Pointer | WasmType::Length => ValType::I32,
                WasmType::I64 | WasmType::PointerOrI64 => ValType::I64,
                WasmType::F32 => ValType::F32,
                WasmType::F64 => ValType::F64,
            })
            .collect()
    };
    (flat(&signature.params), flat(&signature.results))
}

/// What a core module imports, and the functions it exports.
fn shim() -> (Functions, BTreeMap<String, Signature>) {
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    let (mut imports, mut exports) = (Functions::new(), BTreeMap::new());
    for payload in Parser::new(0).parse_all(SHIM) {
        match payload.unwrap() {
            Payload::TypeSection(section) => {
                for group in section {
                    for kind in group.unwrap().into_types() {
                        let CompositeInnerType::Func(function) = kind.composite_type.inner else { unreachable!() };
                        types.push((function.params().to_vec(), function.results().to_vec()));
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    let TypeRef::Func(kind) = import.ty else { unreachable!("the shim imports functions alone") };
                    functions.push(kind);
                    imports.insert((import.module.into(), import.name.into()), types[kind as usize].clone());
                }
            }
            Payload::FunctionSection(section) => functions.extend(section.into_iter().map(Result::unwrap)),
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.unwrap();
                    if export.kind == ExternalKind::Func {
                        let kind = functions[export.index as usize];
                        exports.insert(export.name.to_owned(), types[kind as usize].clone());
                    }
                }
            }
            _ => {}
        }
    }
    (imports, exports)
}

#[test]
fn the_shim_imports_only_what_wit_describes() {
    let world = world();
    let (imports, _) = shim();

    for (name, signature) in imports.iter().filter(|((interface, _), _)| interface != "wasi_snapshot_preview1") {
        assert_eq!(world.imports.get(name), Some(signature), "{name:?}");
    }
}

#[test]
fn the_shim_exports_all_that_wit_asks_of_it() {
    let world = world();
    let (_, exports) = shim();

    assert!(!world.exports.is_empty());
    for ((interface, name), signature) in &world.exports {
        assert_eq!(exports.get(&format!("{interface}#{name}")), Some(signature), "{interface}#{name}");
    }
}

#[test]
fn the_host_provides_all_that_wit_describes() {
    let world = world();
    let engine = wasmtime::Engine::default();
    let linker = super::linker(&engine).unwrap();
    let mut store = Store::new(&engine, Run::new(Arc::new(Offline::default()), Limits::default(), None));

    assert!(world.imports.len() > 15);
    for ((interface, name), signature) in &world.imports {
        let function = linker.get(&mut store, interface, name).ok().and_then(wasmtime::Extern::into_func);
        let kind = function.map(|function| function.ty(&store));
        let provided = kind.map(|kind| (kind.params().map(value).collect(), kind.results().map(value).collect()));
        assert_eq!(provided.as_ref(), Some(signature), "{interface} {name}");
    }
}

fn value(kind: wasmtime::ValType) -> ValType {
    match kind {
        wasmtime::ValType::I32 => ValType::I32,
        wasmtime::ValType::I64 => ValType::I64,
        wasmtime::ValType::F32 => ValType::F32,
        wasmtime::ValType::F64 => ValType::F64,
        other => unreachable!("no host function has {other}"),
    }
}
