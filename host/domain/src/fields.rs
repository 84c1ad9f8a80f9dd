//! `include` and `exclude`: which fields of `data` a client wants to see, by name or by path (`metadata.emit_id`).

use std::collections::BTreeMap;

use serde_json::Value;

/// The depth of JSON that is parsed at all: a longer path selects nothing. A bound, because paths become a tree.
const DEPTH_MAXIMUM: usize = 128;

/// Both lists may be given; what is excluded is left out even when it is included. Unknown names select nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    /// None when everything is included.
    include: Option<Paths>,
    exclude: Paths,
}

/// Paths by their first name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Paths(BTreeMap<String, Selected>);

/// What is selected of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Selected {
    Whole,
    Within(Paths),
}

// === impl FieldSelection ===

impl FieldSelection {
    /// Comma-separated names and paths; an empty list is the same as none.
    pub fn parse(include: Option<&str>, exclude: Option<&str>) -> Self {
        let has_names = names(include).next().is_some();
        Self { include: has_names.then(|| Paths::parse(include)), exclude: Paths::parse(exclude) }
    }

    /// Applies to an object, or to each object of a list. A path goes through lists: `sends.status` is of each send.
    pub fn apply(&self, data: &mut Value) {
        if let Some(include) = &self.include {
            include.keep(data);
        }
        self.exclude.remove(data);
    }
}

// === impl Paths ===

impl Paths {
    fn parse(list: Option<&str>) -> Self {
        let mut paths = Self::default();
        for name in names(list).filter(|name| name.split('.').count() <= DEPTH_MAXIMUM) {
            paths.add(name);
        }
        paths
    }

    fn add(&mut self, path: &str) {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        match rest {
            None => {
                self.0.insert(name.to_owned(), Selected::Whole);
            }
            Some(rest) => {
                let selected = self.0.entry(name.to_owned()).or_insert_with(|| Selected::Within(Self::default()));
                // A field that is selected whole stays so: its parts are selected with it.
                if let Selected::Within(paths) = selected {
                    paths.add(rest);
                }
            }
        }
    }

    fn keep(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.keep(item)),
            Value::Object(fields) => fields.retain(|name, field| match self.0.get(name) {
                None => false,
                Some(Selected::Whole) => true,
                Some(Selected::Within(paths)) => {
                    paths.keep(field);
                    field.is_object() || field.is_array()
                }
            }),
            _ => {}
        }
    }

    fn remove(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.remove(item)),
            Value::Object(fields) => fields.retain(|name, field| match self.0.get(name) {
                None => true,
                Some(Selected::Whole) => false,
                Some(Selected::Within(paths)) => {
                    paths.remove(field);
                    true
                }
            }),
            _ => {}
        }
    }
}

fn names(list: Option<&str>) -> impl Iterator<Item = &str> {
    list.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
