//! One thing, field by field.

use console::Style;
use serde::Serialize;
use serde_json::Value;

use super::Output;
use crate::error::Error;
use crate::suggest::suggest;

/// Names and values, one under the other.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

// === impl Fields ===

impl Fields {
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), super::plain(&value.into())));
        self
    }

    #[must_use]
    pub fn field_if(self, name: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    pub fn print(&self, output: &Output) -> Result<(), Error> {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in &self.0 {
            let name = output.paint(&Style::new().bold(), &format!("{name:width$}"));
            // A value of several lines stays in its column.
            let value = value.replace('\n', &format!("\n{}", " ".repeat(width + 2)));
            output.line(&format!("{name}  {value}"))?;
        }
        Ok(())
    }
}

/// One field of a thing, as a script wants it: `--get configured_props.http.endpoint_url`. Text is printed bare.
pub fn get_field(thing: &impl Serialize, path: &str) -> Result<String, Error> {
    let whole = super::to_value(thing);
    let mut value = &whole;
    for name in path.split('.') {
        let next = match value {
            Value::Array(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
            other => other.get(name),
        };
        value = next.ok_or_else(|| no_field(value, path, name))?;
    }
    Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn no_field(value: &Value, path: &str, name: &str) -> Error {
    let names = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    Error::NoField { field: path.to_owned(), suggestions: suggest(name, names) }
}
