//! Takes the types out of TypeScript, and puts what remains back on the author's lines.

mod decorators;

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Program, Statement, TemplateElement};
use oxc_ast_visit::Visit;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::Transformer;

use super::parse::{ParseError, error_at, first_error};

pub(crate) use decorators::Decorators;

pub(super) fn strip(
    source: &str,
    path: &str,
    source_type: SourceType,
    decorators: Decorators,
) -> Result<String, ParseError> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, source_type).parse();
    if let Some(fault) = first_error(&parsed.diagnostics, source) {
        return Err(fault);
    }
    let mut program = parsed.program;
    let decorator = decorators::first(&program);
    if let Some(offset) = decorator.filter(|_| !decorators.are_legacy) {
        return Err(error_at(source, offset, decorators::NOT_ASKED_FOR));
    }
    let has_empty_export = program.body.iter().any(is_empty_export);
    // Later it would be found as well, at another column.
    let semantic = SemanticBuilder::new().with_enum_eval(true).with_check_syntax_error(true).build(&program);
    if let Some(fault) = first_error(&semantic.diagnostics, source) {
        return Err(fault);
    }
    let scoping = semantic.semantic.into_scoping();
    let options = decorators.options();
    let transformed = Transformer::new(&allocator, Path::new(path), &options).build_with_scoping(scoping, &mut program);
    if let Some(fault) = first_error(&transformed.diagnostics, source) {
        return Err(fault);
    }
    // Added where nothing but types was imported, to keep the file an ES module. What remains decides.
    if !has_empty_export && program.body.last().is_some_and(is_empty_export) {
        program.body.pop();
    }
    let options = CodegenOptions {
        source_map_path: Some(path.into()),
        comments: CommentOptions::disabled(),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(&program);
    let mut marks = vec![Vec::new(); printed.code.lines().count() + 1];
    for token in printed.map.iter().flat_map(|map| map.get_tokens()) {
        if let Some(marks) = marks.get_mut(token.get_dst_line() as usize) {
            marks.push(Mark { column: token.get_dst_col() as usize, line: token.get_src_line() as usize });
        }
    }
    let laid_out = lay_out(&printed.code, &marks);
    Ok(if decorator.is_some() { decorators::with_helpers(laid_out) } else { laid_out })
}

/// Where something stands in a line of the printed text, in UTF-16 units, and the line the author wrote it on.
#[derive(Clone, Copy)]
struct Mark {
    column: usize,
    line: usize,
}

fn is_empty_export(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::ExportNamedDeclaration(export) if export.specifiers.is_empty())
}

/// Breaks lines where the author did. The printer ends every statement with a semicolon and prints no
/// comments, so a break between two of its lines can be any white space, except inside of templates.
fn lay_out(code: &str, marks: &[Vec<Mark>]) -> String {
    let inside = template_breaks(code);
    let mut result = String::with_capacity(code.len());
    let (mut line, mut offset) = (0_usize, 0_usize);
    for (index, text) in code.split('\n').enumerate() {
        let marks = marks.get(index).map(Vec::as_slice).unwrap_or_default();
        let wanted = marks.first().map_or(line, |mark| mark.line);
        if index > 0 && inside.contains(&offset) {
            result.push('\n');
            line += 1;
        } else if wanted > line {
            result.extend(std::iter::repeat_n('\n', wanted - line));
            line = wanted;
        } else if index > 0 {
            result.push(' ');
        }
        let skipped = if inside.contains(&offset) { 0 } else { text.len() - text.trim_start().len() };
        line = break_within(text, skipped, marks, line, &mut result);
        offset += text.len() + 1;
    }
    result
}

/// What the printer puts on one line and the author did not: breaks where a break means nothing, and returns the line
/// that was reached. That is after punctuation; elsewhere it could end a `return` or part a postfix operator.
fn break_within(text: &str, skipped: usize, marks: &[Mark], mut line: usize, result: &mut String) -> usize {
    const BEFORE_A_BREAK: &str = "([{,;:?=&|+-*%<>^~!.";
    let mut marks = marks.iter().peekable();
    let (mut column, mut done) = (0, skipped);
    for (at, letter) in text.char_indices() {
        while let Some(mark) = marks.next_if(|mark| mark.column <= column) {
            let before = text.get(skipped..at).unwrap_or_default().trim_end().chars().next_back();
            if mark.line > line && before.is_some_and(|letter| BEFORE_A_BREAK.contains(letter)) {
                result.push_str(text.get(done..at).unwrap_or_default());
                result.extend(std::iter::repeat_n('\n', mark.line - line));
                (done, line) = (at, mark.line);
            }
        }
        column += letter.len_utf16();
    }
    result.push_str(text.get(done..).unwrap_or_default());
    line
}

/// Offsets of the lines that begin inside of a template.
fn template_breaks(code: &str) -> std::collections::BTreeSet<usize> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, SourceType::mjs()).parse();
    let mut breaks = Breaks { code, offsets: std::collections::BTreeSet::new() };
    breaks.visit(&parsed.program);
    breaks.offsets
}

struct Breaks<'c> {
    code: &'c str,
    offsets: std::collections::BTreeSet<usize>,
}

// === impl Breaks ===

impl Breaks<'_> {
    fn visit(&mut self, program: &Program<'_>) {
        self.visit_program(program);
    }
}

impl<'a> Visit<'a> for Breaks<'_> {
    fn visit_template_element(&mut self, element: &TemplateElement<'a>) {
        let (start, end) = (element.span.start as usize, element.span.end as usize);
        let text = self.code.get(start..end).unwrap_or_default();
        self.offsets.extend(text.match_indices('\n').map(|(at, _)| start + at + 1));
    }
}

#[cfg(test)]
mod tests;
