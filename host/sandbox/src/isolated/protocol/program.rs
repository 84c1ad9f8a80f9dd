//! A program as a file: megabytes of source are passed as a descriptor, not through the socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::isolated::codec::{Decoder, Encoder, Malformed};
use crate::program::{Module, ModuleKind, Program};

/// Only a program that the host has linked is read, so these only bound a mistake.
const MOST: usize = 1 << 24;

pub(in crate::isolated) fn write_program(program: &Program) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.modules.values().map(|module| module.source.len() + 256).sum());
    let mut to = Encoder::frame(&mut bytes, 0, 0);
    to.text(&program.entry);
    to.list(program.modules.iter(), |to, (path, module)| {
        to.text(path);
        to.flag(module.kind == ModuleKind::Json);
        to.text(&module.source);
        to.list(module.imports.iter(), |to, (specifier, target)| {
            to.text(specifier);
            to.text(target);
        });
    });
    drop(to);
    bytes
}

pub(in crate::isolated) fn read_program(bytes: Vec<u8>) -> Result<Program, Malformed> {
    let mut from = Decoder::new(Bytes::from(bytes));
    let _header = (from.u32()?, from.u8()?, from.u64()?);
    let entry = from.text()?;
    let modules = from.list(MOST, |from| {
        let path = from.text()?;
        let kind = if from.flag()? { ModuleKind::Json } else { ModuleKind::CommonJs };
        let source = Arc::from(from.text()?);
        let imports = from.list(MOST, |from| Ok((from.text()?, from.text()?)))?;
        Ok((path, Module { kind, source, imports: imports.into_iter().collect::<BTreeMap<_, _>>() }))
    })?;
    from.end()?;
    Ok(Program { entry, modules: modules.into_iter().collect() })
}
