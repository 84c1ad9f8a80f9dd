//! The edits inside of a module's body: uses of imported names, `this`, `import.meta` and `import()`.

use std::collections::{HashMap, HashSet};

use oxc_allocator::Vec as ArenaVec;
use oxc_ast::ast::{
    AccessorProperty, CallExpression, ExportNamedDeclaration, Expression, Function, IdentifierReference,
    ImportExpression, ImportMeta, ObjectProperty, PropertyDefinition, Statement, StaticBlock, TaggedTemplateExpression,
    ThisExpression,
};
use oxc_ast_visit::{
    Visit,
    walk::{
        walk_call_expression, walk_function, walk_import_expression, walk_object_property, walk_statements,
        walk_static_block, walk_tagged_template_expression,
    },
};
use oxc_semantic::{Scoping, SymbolId};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::names::{Names, quote};
use crate::modules::{HELPER_SPECIFIER, edits::Edits};

/// What stands for an imported name.
pub(super) struct Binding {
    pub(super) value: String,
    /// A property, which a call would take `this` from.
    pub(super) is_property: bool,
}

pub(super) type Bindings = HashMap<SymbolId, Binding>;

pub(super) struct Rewrite<'s> {
    source: &'s str,
    scoping: &'s Scoping,
    names: &'s Names,
    bindings: &'s Bindings,
    edits: &'s mut Edits,
    pub(super) is_common_js: bool,
    pub(super) uses_meta: bool,
    pub(super) has_dynamic_imports: bool,
    /// Offsets of names that are called.
    callees: HashSet<u32>,
    /// Offsets of `a` in `{a}`.
    shorthands: HashSet<u32>,
    /// Offsets where a statement among others begins.
    statements: HashSet<u32>,
    /// Functions and the like around, with a `this` of their own.
    this_depth: usize,
}

// === impl Rewrite ===

impl<'s> Rewrite<'s> {
    pub(super) fn new(
        source: &'s str,
        scoping: &'s Scoping,
        names: &'s Names,
        bindings: &'s Bindings,
        edits: &'s mut Edits,
    ) -> Self {
        Self {
            source,
            scoping,
            names,
            bindings,
            edits,
            is_common_js: false,
            uses_meta: false,
            has_dynamic_imports: false,
            callees: HashSet::new(),
            shorthands: HashSet::new(),
            statements: HashSet::new(),
            this_depth: 0,
        }
    }

    fn note_callee(&mut self, callee: &Expression<'_>) {
        if let Expression::Identifier(identifier) = callee.without_parentheses() {
            self.callees.insert(identifier.span.start);
        }
    }

    fn with_own_this(&mut self, visit: impl FnOnce(&mut Self)) {
        self.this_depth += 1;
        visit(self);
        self.this_depth -= 1;
    }
}

impl<'a> Visit<'a> for Rewrite<'_> {
    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        let Some(reference) = identifier.reference_id.get().map(|id| self.scoping.get_reference(id)) else { return };
        let binding = reference.symbol_id().and_then(|symbol| self.bindings.get(&symbol));
        // Assigning to an import throws in Node. Left as it is, it throws too: the name is unknown.
        let Some(binding) = binding.filter(|_| !reference.is_write()) else { return };
        let (start, end) = (identifier.span.start, identifier.span.end);
        let text = if self.shorthands.contains(&start) {
            format!("{}:{}", identifier.name, binding.value)
        } else if binding.is_property && self.callees.contains(&start) {
            // A bracket at the beginning of a line would continue the line before.
            let guard = if self.statements.contains(&start) { ";" } else { "" };
            format!("{guard}(0,{})", binding.value)
        } else {
            binding.value.clone()
        };
        self.edits.replace(self.source, (start, end), text);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.note_callee(&call.callee);
        walk_call_expression(self, call);
    }

    fn visit_tagged_template_expression(&mut self, template: &TaggedTemplateExpression<'a>) {
        self.note_callee(&template.tag);
        walk_tagged_template_expression(self, template);
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if property.shorthand {
            self.shorthands.insert(property.value.span().start);
        }
        walk_object_property(self, property);
    }

    fn visit_statements(&mut self, statements: &ArenaVec<'a, Statement<'a>>) {
        let expressions = statements.iter().filter(|statement| matches!(statement, Statement::ExpressionStatement(_)));
        self.statements.extend(expressions.map(|statement| statement.span().start));
        walk_statements(self, statements);
    }

    fn visit_export_named_declaration(&mut self, _: &ExportNamedDeclaration<'a>) {
        // The whole statement is taken out.
    }

    fn visit_this_expression(&mut self, this: &ThisExpression) {
        if self.this_depth == 0 && !self.is_common_js {
            self.edits.replace(self.source, (this.span.start, this.span.end), "undefined");
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.with_own_this(|rewrite| walk_function(rewrite, function, flags));
    }

    fn visit_static_block(&mut self, block: &StaticBlock<'a>) {
        self.with_own_this(|rewrite| walk_static_block(rewrite, block));
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        self.visit_decorators(&property.decorators);
        self.visit_property_key(&property.key);
        if let Some(value) = &property.value {
            self.with_own_this(|rewrite| rewrite.visit_expression(value));
        }
    }

    fn visit_accessor_property(&mut self, property: &AccessorProperty<'a>) {
        self.visit_decorators(&property.decorators);
        self.visit_property_key(&property.key);
        if let Some(value) = &property.value {
            self.with_own_this(|rewrite| rewrite.visit_expression(value));
        }
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.uses_meta = true;
        self.edits.replace(self.source, (meta.span.start, meta.span.end), self.names.meta());
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        self.has_dynamic_imports = true;
        let text = if self.is_common_js {
            format!("require({}).dynamic(require,", quote(HELPER_SPECIFIER))
        } else {
            format!("{}.dynamic({},", self.names.helper(), self.names.require())
        };
        self.edits.replace(self.source, (import.span.start, import.source.span().start), text);
        walk_import_expression(self, import);
    }
}
