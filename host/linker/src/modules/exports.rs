//! The names a module exports: exactly for ES modules, as far as it can be told for CommonJS.

use std::collections::BTreeSet;

use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, CallExpression, Declaration, Expression, ObjectPropertyKind,
    Program, Statement,
};
use oxc_ast_visit::{
    Visit,
    walk::{walk_assignment_expression, walk_call_expression},
};
use oxc_ecmascript::BoundNames;

use super::scan::text_of;

#[derive(Debug, Default, Clone)]
pub(crate) struct Exports {
    pub(crate) names: BTreeSet<String>,
    /// Specifiers whose names are exported as well.
    pub(crate) stars: Vec<String>,
}

pub(super) fn of_es_module(program: &Program<'_>) -> Exports {
    let mut exports = Exports::default();
    for statement in &program.body {
        match statement {
            Statement::ExportDefaultDeclaration(_) => drop(exports.names.insert("default".to_owned())),
            Statement::ExportDeclaration(export) => exports.names.extend(declared_names(&export.declaration)),
            Statement::ExportNamedDeclaration(export) => {
                exports.names.extend(export.specifiers.iter().map(|item| item.exported.name().to_string()));
            }
            Statement::ExportFromDeclaration(export) => {
                exports.names.extend(export.specifiers.iter().map(|item| item.exported.name().to_string()));
            }
            Statement::ExportAllDeclaration(export) => match &export.exported {
                Some(name) => drop(exports.names.insert(name.name().to_string())),
                None => exports.stars.push(export.source.value.to_string()),
            },
            _ => {}
        }
    }
    exports
}

pub(super) fn declared_names(declaration: &Declaration<'_>) -> Vec<String> {
    let mut names = Vec::new();
    match declaration {
        Declaration::VariableDeclaration(variables) => {
            variables
                .declarations
                .iter()
                .for_each(|item| item.id.bound_names(&mut |name| names.push(name.name.to_string())));
        }
        other => names.extend(other.id().map(|id| id.name.to_string())),
    }
    names
}

/// What compilers and authors commonly write: `exports.a = …`, `module.exports = {a, b}`,
/// `Object.defineProperty(exports, "a", …)`, `__exportStar(require("x"), exports)`,
/// `module.exports = require("x")`.
pub(super) fn of_common_js(program: &Program<'_>) -> Exports {
    let mut names = Names::default();
    names.visit_program(program);
    names.0
}

#[derive(Default)]
struct Names(Exports);

// === impl Names ===

impl Names {
    fn note_value(&mut self, value: &Expression<'_>) {
        match value {
            Expression::ObjectExpression(object) => {
                for property in &object.properties {
                    if let ObjectPropertyKind::ObjectProperty(property) = property
                        && let Some(name) = property.key.static_name()
                    {
                        self.0.names.insert(name.into_owned());
                    }
                }
            }
            Expression::CallExpression(call) => self.0.stars.extend(required(call)),
            // `exports = module.exports = …`
            Expression::AssignmentExpression(inner) => self.note_value(&inner.right),
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        match &assignment.left {
            AssignmentTarget::StaticMemberExpression(member) if is_exports(&member.object) => {
                self.0.names.insert(member.property.name.to_string());
            }
            AssignmentTarget::ComputedMemberExpression(member) if is_exports(&member.object) => {
                self.0.names.extend(text_of(&member.expression));
            }
            AssignmentTarget::StaticMemberExpression(member) => {
                let is_module = matches!(&member.object, Expression::Identifier(object) if object.name == "module");
                if is_module && member.property.name == "exports" {
                    self.note_value(&assignment.right);
                }
            }
            _ => {}
        }
        walk_assignment_expression(self, assignment);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let first = call.arguments.first().and_then(Argument::as_expression);
        let callee = match &call.callee {
            Expression::StaticMemberExpression(member) => member.property.name.as_str(),
            Expression::Identifier(identifier) => identifier.name.as_str(),
            _ => "",
        };
        match (callee, first) {
            ("defineProperty", Some(target)) if is_exports(target) => {
                self.0.names.extend(call.arguments.get(1).and_then(Argument::as_expression).and_then(text_of));
            }
            ("__exportStar" | "__export" | "__reExport", Some(_)) => {
                let arguments = call.arguments.iter().filter_map(Argument::as_expression);
                let calls = arguments.filter_map(|argument| match argument {
                    Expression::CallExpression(call) => required(call),
                    _ => None,
                });
                self.0.stars.extend(calls);
            }
            _ => {}
        }
        walk_call_expression(self, call);
    }
}

/// `exports`, `module.exports`, and an assignment between them.
fn is_exports(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::Identifier(identifier) => identifier.name == "exports",
        Expression::StaticMemberExpression(member) => {
            let is_module = matches!(&member.object, Expression::Identifier(object) if object.name == "module");
            is_module && member.property.name == "exports"
        }
        _ => false,
    }
}

fn required(call: &CallExpression<'_>) -> Option<String> {
    let is_require = matches!(&call.callee, Expression::Identifier(callee) if callee.name == "require");
    if !is_require {
        return None;
    }
    text_of(call.arguments.first().and_then(Argument::as_expression)?)
}
