//! What a `require` asks for that is computed: the text before what only a run knows, and the text after it.

use oxc_ast::ast::{Argument, Expression};
use oxc_syntax::operator::BinaryOperator;

use super::scan::text_of;

/// Relative to the folder of the file that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) before: String,
    /// None when nothing is left to a run: then `before` is all of it.
    pub(crate) after: Option<String>,
    /// It is asked for with the folder's own path, as `__dirname` says it.
    pub(crate) is_absolute: bool,
}

enum Part {
    Text(String),
    Folder,
    Unknown,
}

/// None for what could be a file of any folder, or a package.
pub(super) fn shape_of(expression: &Expression<'_>) -> Option<Shape> {
    let mut parts = Vec::new();
    collect(expression, &mut parts);
    let is_absolute = matches!(parts.first(), Some(Part::Folder));
    let (mut before, mut after) = (String::new(), None::<String>);
    for (index, part) in parts.into_iter().enumerate() {
        match (part, &mut after) {
            (Part::Folder, None) if index == 0 => before.push('.'),
            (Part::Text(text), None) => before.push_str(&text),
            (Part::Text(text), Some(after)) => after.push_str(&text),
            // What stands between two of them is left to the run as well.
            (Part::Folder | Part::Unknown, after) => *after = Some(String::new()),
        }
    }
    let is_relative = before.starts_with("./") || before.starts_with("../");
    is_relative.then_some(Shape { before, after, is_absolute })
}

fn collect(expression: &Expression<'_>, parts: &mut Vec<Part>) {
    if let Some(text) = text_of(expression) {
        return parts.push(Part::Text(text));
    }
    match expression {
        Expression::ParenthesizedExpression(inner) => collect(&inner.expression, parts),
        Expression::Identifier(identifier) if identifier.name == "__dirname" => parts.push(Part::Folder),
        Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
            collect(&sum.left, parts);
            collect(&sum.right, parts);
        }
        Expression::TemplateLiteral(template) => {
            for (index, quasi) in template.quasis.iter().enumerate() {
                parts.extend(quasi.value.cooked.as_ref().map(|text| Part::Text(text.to_string())));
                if let Some(expression) = template.expressions.get(index) {
                    collect(expression, parts);
                }
            }
        }
        Expression::CallExpression(call) => match &call.callee {
            // Of `path`, whatever it is called.
            Expression::StaticMemberExpression(member) if matches!(&*member.property.name, "join" | "resolve") => {
                collect_joined(&call.arguments, parts);
            }
            _ => parts.push(Part::Unknown),
        },
        _ => parts.push(Part::Unknown),
    }
}

fn collect_joined(arguments: &[Argument<'_>], parts: &mut Vec<Part>) {
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            parts.push(Part::Text("/".to_owned()));
        }
        match argument.as_expression() {
            Some(expression) => collect(expression, parts),
            None => parts.push(Part::Unknown),
        }
    }
}
