//! Parses a file into what the linker needs to know about it.

use std::sync::Arc;

use oxc_allocator::Allocator;
use oxc_diagnostics::Diagnostics;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use super::{
    computed::Shape,
    exports::{self, Exports},
    lower, nesting,
    scan::{self, Found},
    typescript::{self, Decorators},
};
use crate::linked::ModuleKind;

/// What is known about a file before it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'p> {
    pub(crate) path: &'p str,
    pub(crate) format: Format,
    pub(crate) is_typescript: bool,
    pub(crate) decorators: Decorators,
    /// The component's own file, whose author wants to hear about every mistake.
    pub(crate) is_own: bool,
    pub(crate) lowers: bool,
    /// It imports a module that awaits outside of functions.
    pub(crate) imports_async: bool,
}

/// As the extension or the nearest `package.json` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    CommonJs,
    Esm,
    /// The syntax decides.
    Open,
}

#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) kind: ModuleKind,
    pub(crate) source: Arc<str>,
    pub(crate) found: Vec<Found>,
    pub(crate) exports: Exports,
    pub(crate) is_lowered: bool,
    pub(crate) has_top_level_await: bool,
    pub(crate) computed: Vec<Computed>,
    /// Of each of `found`, in its order; empty for files of packages.
    positions: Vec<Position>,
}

/// A `require` of something computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Computed {
    pub(crate) line: u32,
    pub(crate) shape: Option<Shape>,
}

/// Where something stands in the author's text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    /// Types that were taken out moved the rest of their line.
    pub(crate) column: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    NestingTooDeep,
    Syntax { line: u32, column: u32, message: String },
}

/// Must run on a thread of [`super::stack`].
pub(crate) fn parse(source: &str, options: &Options<'_>) -> Result<Parsed, ParseError> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    nesting::check(source)?;
    if !options.is_typescript {
        return parse_script(source, options);
    }
    let source_type = SourceType::ts().with_module(options.format != Format::CommonJs);
    let stripped = typescript::strip(source, options.path, source_type, options.decorators)?;
    parse_script(&stripped, options)
}

fn parse_script(source: &str, options: &Options<'_>) -> Result<Parsed, ParseError> {
    let allocator = Allocator::default();
    let (is_module, parsed) = match options.format {
        Format::CommonJs => (false, parse_as(&allocator, source, SourceType::cjs())),
        Format::Esm => (true, parse_as(&allocator, source, SourceType::mjs())),
        Format::Open => parse_open(&allocator, source),
    };
    if let Some(fault) = first_error(&parsed.diagnostics, source) {
        return Err(fault);
    }
    let program = &parsed.program;
    let semantic = SemanticBuilder::new().with_check_syntax_error(options.is_own).build(program);
    if let Some(fault) = first_error(&semantic.diagnostics, source) {
        return Err(fault);
    }
    let scoping = semantic.semantic.scoping();
    let scanned = scan::scan(program, scoping);
    let exports = if is_module { exports::of_es_module(program) } else { exports::of_common_js(program) };
    let is_lowered = is_module && options.lowers;
    let is_async = options.imports_async || scanned.has_top_level_await;
    let changed = match (is_lowered, is_module) {
        (true, _) => Some(lower::lower(program, scoping, source, is_async)),
        (false, false) if options.lowers => lower::adjust_common_js(program, scoping, source),
        (false, _) => None,
    };
    let lines = Lines::new(source);
    let position = |offset: u32| Position {
        line: lines.line(offset),
        column: (!options.is_typescript).then(|| lines.column(source, offset)),
    };
    let told = if options.is_own { scanned.found.as_slice() } else { &[] };
    Ok(Parsed {
        kind: if is_module && !is_lowered { ModuleKind::Esm } else { ModuleKind::CommonJs },
        source: changed.map_or_else(|| source.into(), Into::into),
        exports,
        is_lowered,
        has_top_level_await: scanned.has_top_level_await,
        computed: scanned
            .computed
            .into_iter()
            .map(|(offset, shape)| Computed { line: lines.line(offset), shape })
            .collect(),
        positions: told.iter().map(|found| position(found.offset)).collect(),
        found: scanned.found,
    })
}

/// As Node: CommonJS, unless something in it is possible in ES modules only.
fn parse_open<'a>(allocator: &'a Allocator, source: &'a str) -> (bool, ParserReturn<'a>) {
    let may_be_module = ["import", "export", "await"].iter().any(|word| source.contains(word));
    if may_be_module {
        let parsed = parse_as(allocator, source, SourceType::mjs());
        let has_syntax = parsed.module_record.has_module_syntax || !parsed.module_record.import_metas.is_empty();
        if has_syntax {
            return (true, parsed);
        }
    }
    let parsed = parse_as(allocator, source, SourceType::cjs());
    if parsed.diagnostics.has_errors() && source.contains("await") {
        let module = parse_as(allocator, source, SourceType::mjs());
        if !module.diagnostics.has_errors() {
            return (true, module);
        }
    }
    (false, parsed)
}

fn parse_as<'a>(allocator: &'a Allocator, source: &'a str, source_type: SourceType) -> ParserReturn<'a> {
    let allow_return_outside_function = !source_type.is_module();
    let options = ParseOptions { allow_return_outside_function, ..ParseOptions::default() };
    Parser::new(allocator, source, source_type).with_options(options).parse()
}

pub(super) fn first_error(diagnostics: &Diagnostics, source: &str) -> Option<ParseError> {
    let error = diagnostics.errors().next()?;
    Some(error_at(source, error.labels.first().map_or(0, |label| label.offset()), &error.message))
}

pub(super) fn error_at(source: &str, offset: u32, message: &str) -> ParseError {
    let lines = Lines::new(source);
    ParseError::Syntax { line: lines.line(offset), column: lines.column(source, offset), message: message.to_owned() }
}

/// Where each line begins, so that many places of one text are found fast.
struct Lines(Vec<usize>);

// === impl Lines ===

impl Lines {
    fn new(source: &str) -> Self {
        Self(std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// From 1.
    fn line(&self, offset: u32) -> u32 {
        self.0.partition_point(|start| *start <= offset as usize) as u32
    }

    /// In characters, from 1.
    fn column(&self, source: &str, offset: u32) -> u32 {
        let start = self.0.get(self.line(offset) as usize - 1).copied().unwrap_or_default();
        source.get(start..offset as usize).unwrap_or_default().chars().count() as u32 + 1
    }
}

// === impl Parsed ===

impl Parsed {
    /// Each request with its place, when the file is the component's own.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&Found, Option<Position>)> {
        self.found.iter().enumerate().map(|(index, found)| (found, self.positions.get(index).copied()))
    }
}

#[cfg(test)]
mod tests;
