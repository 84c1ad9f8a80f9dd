//! Splits the shim into code and memory.
//!
//! The code becomes a module without data segments, so one compilation serves every image. What the data segments would
//! have written becomes the first image's memory.

use wasm_encoder::reencode::{self, Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, ElementSection, ExportKind, ExportSection, FunctionSection, GlobalSection, ImportSection,
    MemorySection, MemoryType, Module, TableSection, TypeSection,
};
use wasmparser::{DataKind, FunctionBody, GlobalType, Operator, Parser, Payload};

use crate::{PAGE_BYTES, STACK_POINTER_EXPORT};

/// The shim, in two.
pub(crate) struct Split {
    pub(crate) code: Vec<u8>,
    pub(crate) memory: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    #[error("the shim is not a valid WebAssembly module")]
    Parse(#[from] wasmparser::BinaryReaderError),
    #[error("the shim could not be encoded again")]
    Encode(#[from] reencode::Error),
    #[error("the shim has {found}, which would not survive in an image")]
    Unsupported { found: &'static str },
}

/// Splits `wasm`; refuses anything that would keep state outside of its one memory.
pub(crate) fn split(wasm: &[u8]) -> Result<Split, SplitError> {
    let memory_type = memory_type(wasm)?;
    let mut memory = vec![0; memory_type.minimum as usize * PAGE_BYTES];
    let mut encoder = Encoder { module: Module::new(), code: CodeSection::new(), memory_type };
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::DataSection(section) => write_data(section, &mut memory)?,
            payload => encoder.copy(payload)?,
        }
    }
    Ok(Split { code: encoder.finish(), memory })
}

struct Encoder {
    module: Module,
    code: CodeSection,
    memory_type: MemoryType,
}

// === impl Encoder ===

impl Encoder {
    fn copy(&mut self, payload: Payload<'_>) -> Result<(), SplitError> {
        let mut reencode = RoundtripReencoder;
        macro_rules! section {
            ($kind:ident, $parse:ident, $section:expr) => {{
                let mut copy = $kind::new();
                reencode.$parse(&mut copy, $section)?;
                copy
            }};
        }
        match payload {
            Payload::TypeSection(types) => {
                self.module.section(&section!(TypeSection, parse_type_section, types));
            }
            Payload::ImportSection(imports) => {
                self.module.section(&section!(ImportSection, parse_import_section, imports));
            }
            Payload::FunctionSection(functions) => {
                self.module.section(&section!(FunctionSection, parse_function_section, functions));
            }
            Payload::TableSection(tables) => {
                self.module.section(&section!(TableSection, parse_table_section, tables));
            }
            Payload::MemorySection(_) => {
                // An image may be as large as it likes, whatever maximum the shim was linked with.
                let mut memories = MemorySection::new();
                memories.memory(self.memory_type);
                self.module.section(&memories);
            }
            Payload::GlobalSection(globals) => {
                check_globals(globals.clone())?;
                self.module.section(&section!(GlobalSection, parse_global_section, globals));
            }
            Payload::ExportSection(exports) => {
                let mut exports = section!(ExportSection, parse_export_section, exports);
                exports.export(STACK_POINTER_EXPORT, ExportKind::Global, 0);
                self.module.section(&exports);
            }
            Payload::ElementSection(elements) => {
                self.module.section(&section!(ElementSection, parse_element_section, elements));
            }
            Payload::CodeSectionEntry(body) => {
                check_code(&body)?;
                reencode.parse_function_body(&mut self.code, body)?;
            }
            Payload::StartSection { .. } => return Err(SplitError::Unsupported { found: "a start function" }),
            // Custom sections say nothing to the engine.
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        self.module.section(&self.code);
        self.module.finish()
    }
}

fn memory_type(wasm: &[u8]) -> Result<MemoryType, SplitError> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::MemorySection(memories) = payload? {
            if memories.count() != 1 {
                return Err(SplitError::Unsupported { found: "several memories" });
            }
            if let Some(memory) = memories.into_iter().next() {
                let minimum = memory?.initial;
                return Ok(MemoryType { minimum, maximum: None, memory64: false, shared: false, page_size_log2: None });
            }
        }
    }
    Err(SplitError::Unsupported { found: "no memory" })
}

/// Memory is the whole state only if there is no other, and an instance whose memory is restored is as good as new: one mutable
/// global, the stack pointer, which is at rest between two calls, and tables that stay as they are.
fn check_globals(globals: wasmparser::GlobalSectionReader<'_>) -> Result<(), SplitError> {
    for (index, global) in globals.into_iter().enumerate() {
        let GlobalType { mutable, .. } = global?.ty;
        if mutable != (index == 0) {
            return Err(SplitError::Unsupported { found: "a mutable global beside the stack pointer" });
        }
    }
    Ok(())
}

fn check_code(body: &FunctionBody<'_>) -> Result<(), SplitError> {
    use Operator::{ElemDrop, TableCopy, TableFill, TableGrow, TableInit, TableSet};
    for operator in body.get_operators_reader()? {
        if let TableSet { .. }
        | TableGrow { .. }
        | TableFill { .. }
        | TableCopy { .. }
        | TableInit { .. }
        | ElemDrop { .. } = operator?
        {
            return Err(SplitError::Unsupported { found: "code that changes a table" });
        }
    }
    Ok(())
}

fn write_data(section: wasmparser::DataSectionReader<'_>, memory: &mut [u8]) -> Result<(), SplitError> {
    for segment in section {
        let segment = segment?;
        let DataKind::Active { offset_expr, .. } = segment.kind else {
            return Err(SplitError::Unsupported { found: "a passive data segment" });
        };
        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
            return Err(SplitError::Unsupported { found: "a computed data offset" });
        };
        let start = value as u32 as usize;
        memory
            .get_mut(start..start + segment.data.len())
            .ok_or(SplitError::Unsupported { found: "a data segment outside of its memory" })?
            .copy_from_slice(segment.data);
    }
    Ok(())
}
