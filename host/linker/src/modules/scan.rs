//! What a module asks for: `require`, `require.resolve`, `import`, `export … from` and `import()` with
//! a text that is written out.

use std::collections::BTreeSet;

use oxc_ast::ast::{
    Argument, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget, AwaitExpression, BindingPattern,
    CallExpression, Expression, ForOfStatement, Function, IdentifierReference, ImportDeclarationSpecifier,
    ImportExpression, Program, Statement, TryStatement, VariableDeclarator,
};
use oxc_ast_visit::{
    Visit,
    walk::{
        walk_arrow_function_expression, walk_assignment_expression, walk_await_expression, walk_call_expression,
        walk_for_of_statement, walk_function, walk_import_expression, walk_variable_declarator,
    },
};
use oxc_semantic::Scoping;
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::computed::{Shape, shape_of};

/// One place where a module asks for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) specifier: String,
    pub(crate) kind: RequestKind,
    /// Inside `try`: the author is prepared for its absence.
    pub(crate) is_optional: bool,
    /// Imported by name.
    pub(crate) names: Vec<String>,
    /// Where it is written, as an offset into the text that was parsed.
    pub(crate) offset: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Require,
    Import,
    DynamicImport,
}

#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) found: Vec<Found>,
    /// Offsets of `require(…)` with something computed, and what that can be.
    pub(super) computed: Vec<(u32, Option<Shape>)>,
    /// An `await` outside of functions.
    pub(super) has_top_level_await: bool,
}

struct Scan<'s> {
    scoping: &'s Scoping,
    scanned: Scanned,
    /// Other names of `require`, by which it is hidden from bundlers.
    aliases: BTreeSet<String>,
    try_depth: usize,
    function_depth: usize,
}

pub(super) fn scan(program: &Program<'_>, scoping: &Scoping) -> Scanned {
    let mut scan =
        Scan { scoping, scanned: Scanned::default(), aliases: BTreeSet::new(), try_depth: 0, function_depth: 0 };
    for statement in &program.body {
        scan.scan_declaration(statement);
    }
    scan.visit_program(program);
    scan.scanned
}

// === impl Scan ===

impl Scan<'_> {
    fn scan_declaration(&mut self, statement: &Statement<'_>) {
        let (source, names) = match statement {
            Statement::ImportDeclaration(import) => {
                let specifiers = import.specifiers.iter().flatten();
                (&import.source, specifiers.filter_map(imported_name).collect())
            }
            Statement::ExportFromDeclaration(export) => {
                let names = export.specifiers.iter().map(|item| item.local.name().to_string());
                (&export.source, names.collect())
            }
            Statement::ExportAllDeclaration(export) => (&export.source, Vec::new()),
            _ => return,
        };
        self.note(source.value.as_str(), RequestKind::Import, names, source.span.start);
    }

    fn note(&mut self, specifier: &str, kind: RequestKind, names: Vec<String>, offset: u32) {
        let is_optional = self.try_depth > 0;
        self.scanned.found.push(Found { specifier: specifier.to_owned(), kind, is_optional, names, offset });
    }

    /// Node's own `require`, or one made by `createRequire` in an ES module's outermost scope.
    fn is_require(&self, identifier: &IdentifierReference<'_>) -> bool {
        if identifier.name != "require" {
            return false;
        }
        let symbol = identifier.reference_id.get().and_then(|id| self.scoping.get_reference(id).symbol_id());
        symbol.is_none_or(|symbol| {
            let is_module = self.scoping.root_scope_flags().is_strict_mode();
            is_module && self.scoping.symbol_scope_id(symbol) == self.scoping.root_scope_id()
        })
    }

    fn note_await(&mut self) {
        self.scanned.has_top_level_await |= self.function_depth == 0;
    }
}

impl<'a> Visit<'a> for Scan<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let requires = match &call.callee {
            Expression::Identifier(identifier) => self.is_require(identifier),
            Expression::StaticMemberExpression(member) => match &member.object {
                Expression::Identifier(object) => {
                    (member.property.name == "resolve" && self.is_require(object))
                        || (object.name == "module" && member.property.name == "require")
                }
                _ => false,
            },
            _ => false,
        };
        if requires && let Some(argument) = call.arguments.first().and_then(Argument::as_expression) {
            match text_of(argument) {
                Some(specifier) => self.note(&specifier, RequestKind::Require, Vec::new(), argument.span().start),
                None => self.scanned.computed.push((call.span.start, shape_of(argument))),
            }
        }
        if let Expression::Identifier(callee) = &call.callee
            && self.aliases.contains(callee.name.as_str())
            && let Some(argument) = call.arguments.first().and_then(Argument::as_expression)
            && let Some(shape) = shape_of(argument)
        {
            self.scanned.computed.push((call.span.start, Some(shape)));
        }
        walk_call_expression(self, call);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(Expression::Identifier(value))) =
            (&declarator.id, &declarator.init)
            && self.is_require(value)
        {
            self.aliases.insert(name.name.to_string());
        }
        walk_variable_declarator(self, declarator);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let (AssignmentTarget::AssignmentTargetIdentifier(name), Expression::Identifier(value)) =
            (&assignment.left, &assignment.right)
            && self.is_require(value)
        {
            self.aliases.insert(name.name.to_string());
        }
        walk_assignment_expression(self, assignment);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Some(specifier) = text_of(&import.source) {
            self.note(&specifier, RequestKind::DynamicImport, Vec::new(), import.source.span().start);
        }
        walk_import_expression(self, import);
    }

    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        self.try_depth += 1;
        self.visit_block_statement(&statement.block);
        self.try_depth -= 1;
        if let Some(handler) = &statement.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &statement.finalizer {
            self.visit_block_statement(finalizer);
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.function_depth += 1;
        walk_function(self, function, flags);
        self.function_depth -= 1;
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        self.function_depth += 1;
        walk_arrow_function_expression(self, function);
        self.function_depth -= 1;
    }

    fn visit_await_expression(&mut self, expression: &AwaitExpression<'a>) {
        self.note_await();
        walk_await_expression(self, expression);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        if statement.r#await {
            self.note_await();
        }
        walk_for_of_statement(self, statement);
    }
}

/// `None` for a namespace, which asks for no name in particular.
fn imported_name(specifier: &ImportDeclarationSpecifier<'_>) -> Option<String> {
    match specifier {
        ImportDeclarationSpecifier::ImportSpecifier(item) => Some(item.imported.name().to_string()),
        ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => Some("default".to_owned()),
        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
    }
}

/// A text that is written out: a string, or a template without substitutions.
pub(super) fn text_of(expression: &Expression<'_>) -> Option<String> {
    match expression {
        Expression::StringLiteral(literal) => Some(literal.value.to_string()),
        Expression::TemplateLiteral(template) if template.expressions.is_empty() => {
            template.quasis.first().and_then(|part| part.value.cooked.as_ref()).map(ToString::to_string)
        }
        Expression::ParenthesizedExpression(inner) => text_of(&inner.expression),
        _ => None,
    }
}
