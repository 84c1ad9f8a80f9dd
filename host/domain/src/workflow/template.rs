//! Text with `{{ expressions }}`. They are found here and never evaluated: that is for the sandbox of their step.

mod expression;

use serde_json::Value;

/// A text that holds at least one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// JavaScript, as it stands between the braces; `line` and `column` are where it begins in the text, from 1.
    Expression {
        code: String,
        line: u32,
        column: u32,
    },
}

/// Where a value stands in a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Name(String),
    Index(usize),
}

// === impl Template ===

impl Template {
    /// None when the text holds no expression.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = 0;
        while let Some(start) = text.get(rest..)?.find("{{").map(|at| rest + at) {
            let code_start = start + 2;
            let Some(length) = length_of_expression(text.get(code_start..)?) else { break };
            let end = code_start + length;
            if start > rest {
                parts.push(Part::Text(text.get(rest..start)?.to_owned()));
            }
            let (line, column) = place(text.get(..code_start)?);
            parts.push(Part::Expression { code: text.get(code_start..end)?.to_owned(), line, column });
            rest = end + 2;
        }
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            return None;
        }
        if rest < text.len() {
            parts.push(Part::Text(text.get(rest..)?.to_owned()));
        }
        Some(Self { parts })
    }

    /// Whether its value is that of its expression as it is, and not text.
    pub fn is_one_expression(&self) -> bool {
        let mut expressions = 0;
        let is_blank = |part: &Part| match part {
            Part::Text(text) => text.trim().is_empty(),
            Part::Expression { .. } => {
                expressions += 1;
                true
            }
        };
        self.parts.iter().all(is_blank) && expressions == 1
    }

    pub fn expressions(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Expression { code, line, column } => Some((code.as_str(), *line, *column)),
        })
    }
}

/// The templates in a value, with where they stand.
pub fn find(value: &Value) -> Vec<(Vec<Key>, Template)> {
    let (mut found, mut path) = (Vec::new(), Vec::new());
    collect(value, &mut path, &mut found);
    found
}

/// The value at a place, each step of which is a name or an index.
pub fn value_at<'a>(value: &'a mut Value, path: &[Value]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, key| match key {
        Value::String(name) => value.get_mut(name),
        key => value.get_mut(usize::try_from(key.as_u64()?).ok()?),
    })
}

/// As in a message: `headers.x[0]`.
pub fn shown(path: &[Key]) -> String {
    let mut text = String::new();
    for key in path {
        match key {
            Key::Name(name) if text.is_empty() => text.push_str(name),
            Key::Name(name) => {
                text.push('.');
                text.push_str(name);
            }
            Key::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn collect(value: &Value, path: &mut Vec<Key>, found: &mut Vec<(Vec<Key>, Template)>) {
    let mut descend = |key: Key, value: &Value| {
        path.push(key);
        collect(value, path, found);
        path.pop();
    };
    match value {
        Value::String(text) => found.extend(Template::parse(text).map(|template| (path.clone(), template))),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| descend(Key::Index(index), item)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| descend(Key::Name(name.clone()), value)),
        _ => {}
    }
}

/// How long the expression is that ends with `}}`. One whose strings, templates or braces are not closed goes to the first `}}`, where
/// compiling it says what is wrong; without any `}}` it is text.
fn length_of_expression(text: &str) -> Option<usize> {
    expression::closed_length(text).or_else(|| text.find("}}"))
}

fn place(before: &str) -> (u32, u32) {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}
