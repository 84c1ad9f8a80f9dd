//! `include` and `exclude`: which fields of `data` a client wants to see.

use serde_json::Value;

/// Both lists may be given; what is excluded is left out even when it is included. Unknown names select nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    include: Vec<String>,
    exclude: Vec<String>,
}

// === impl FieldSelection ===

impl FieldSelection {
    /// Comma-separated names; an empty list is the same as none.
    pub fn parse(include: Option<&str>, exclude: Option<&str>) -> Self {
        Self { include: names(include), exclude: names(exclude) }
    }

    /// Applies to an object, or to each object of a list.
    pub fn apply(&self, data: &mut Value) {
        match data {
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply_to_item(item)),
            item => self.apply_to_item(item),
        }
    }

    fn apply_to_item(&self, item: &mut Value) {
        let is_among = |names: &[String], name: &str| names.iter().any(|known| known == name);
        if let Value::Object(fields) = item {
            fields.retain(|name, _| {
                (self.include.is_empty() || is_among(&self.include, name)) && !is_among(&self.exclude, name)
            });
        }
    }
}

fn names(list: Option<&str>) -> Vec<String> {
    let names = list.unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
