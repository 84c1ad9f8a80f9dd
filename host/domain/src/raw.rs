//! Reading a loose JSON object field by field, noting every mistake instead of stopping at the first.
//!
//! `null` counts as absent everywhere: that is how JavaScript's `undefined` and a cleared form field arrive.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// What the sandbox writes in place of a function when it dumps `module.exports`.
pub(crate) fn is_function(value: &Value) -> bool {
    value.get("$fn") == Some(&Value::Bool(true))
}

/// A JSON number without a fraction, whatever its spelling: JavaScript has one number type, so 5.0 is 5.
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    /// Beyond this JavaScript itself no longer tells neighbours apart.
    const SAFE: i64 = (1 << 53) - 1;
    let number = match value.as_i64() {
        Some(number) => number,
        None => value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= SAFE as f64)? as i64,
    };
    (-SAFE..=SAFE).contains(&number).then_some(number)
}

/// The fields not yet taken from an object, and where it stands.
pub(crate) struct Fields<'a> {
    path: String,
    rest: Map<String, Value>,
    problems: &'a mut Vec<Problem>,
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(crate) fn new(path: impl Into<String>, object: Map<String, Value>, problems: &'a mut Vec<Problem>) -> Self {
        Self { path: path.into(), rest: object, problems }
    }

    /// Notes a problem with one property, or with the object itself when the property is empty.
    pub(crate) fn problem(&mut self, property: &str, message: impl Into<String>) {
        let path = join(&self.path, property);
        self.problems.push(Problem::new(path, message));
    }

    pub(crate) fn problems(&mut self) -> &mut Vec<Problem> {
        self.problems
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.rest.get(name).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => {
                self.problem(name, "must be a string");
                None
            }
        }
    }

    /// A string that says something; its absence is a problem.
    pub(crate) fn required_text(&mut self, name: &str) -> Option<String> {
        if !self.has(name) {
            self.problem(name, "is required");
            return None;
        }
        let text = self.text(name)?;
        if text.trim().is_empty() {
            self.problem(name, "must not be empty");
            return None;
        }
        Some(text)
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(_) => {
                self.problem(name, "must be true or false");
                false
            }
        }
    }

    pub(crate) fn integer(&mut self, name: &str) -> Option<i64> {
        let value = self.take(name)?;
        let number = whole_number(&value);
        if number.is_none() {
            self.problem(name, "must be an integer");
        }
        number
    }

    /// Of the fields that are there and were not taken.
    pub(crate) fn rest_names(&self) -> Vec<String> {
        self.rest.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn into_rest(self) -> Map<String, Value> {
        self.rest
    }
}

pub(crate) fn join(path: &str, property: &str) -> String {
    match (path.is_empty(), property.is_empty()) {
        (true, _) => property.to_owned(),
        (_, true) => path.to_owned(),
        _ => format!("{path}.{property}"),
    }
}
