//! Redaction: which values of a run's input and output are not shown.
//!
//! A path names keys from the root of a value, as `body.password`; `*` is any key, a first `**` any depth, and elements of
//! lists are entered without being named. Keys are compared without regard to ASCII case, because a header that is spelt
//! otherwise must not be shown. What a path hides in the input is hidden wherever its text occurs in what else is shown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is shown instead.
pub const REDACTED: &str = "********";
/// Paths of one source.
pub const PATHS_MAXIMUM: usize = 32;
pub const PATH_BYTES_MAXIMUM: usize = 256;
/// A shorter text occurs by chance, and hiding it everywhere would make everything unreadable.
const HIDDEN_CHARACTERS_MINIMUM: usize = 4;
/// The raw forms of what is parsed into another key of an HTTP event: hidden with any part of it.
const RAW_FORMS: [(&str, &[&str]); 2] = [("body", &["bodyRaw"]), ("query", &["url", "path"])];

/// A path to values that are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Vec<String>);

/// The paths of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Redaction(Vec<Path>);

/// Texts that a redaction has hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hidden(Vec<String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    #[error("a path is keys with dots between them, as `body.password`, of at most {PATH_BYTES_MAXIMUM} bytes")]
    Path,
    #[error("at most {PATHS_MAXIMUM} paths, not {found}")]
    TooMany { found: usize },
}

// === impl Path ===

impl Path {
    pub fn parse(text: &str) -> Result<Self, RedactionError> {
        let keys: Vec<String> = text.split('.').map(str::to_owned).collect();
        let is_deep_later = keys.iter().skip(1).any(|key| key == "**");
        let is_all = keys.iter().all(|key| key == "**");
        if text.len() > PATH_BYTES_MAXIMUM || keys.iter().any(String::is_empty) || is_deep_later || is_all {
            return Err(RedactionError::Path);
        }
        Ok(Self(keys))
    }

    fn apply(&self, value: &mut Value, hidden: &mut Hidden) {
        match self.0.split_first() {
            Some((first, rest)) if first == "**" => hide_deep(rest, value, hidden),
            _ => hide(&self.0, value, hidden),
        };
    }
}

impl TryFrom<String> for Path {
    type Error = RedactionError;

    fn try_from(text: String) -> Result<Self, RedactionError> {
        Self::parse(&text)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0.join(".")
    }
}

/// Hides what the keys lead to; whether there was anything.
fn hide(keys: &[String], value: &mut Value, hidden: &mut Hidden) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        hidden.add(value);
        *value = Value::String(REDACTED.to_owned());
        return true;
    };
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |found, item| hide(keys, item, hidden) | found),
        Value::Object(fields) => {
            let is_meant = |name: &str| key == "*" || name.eq_ignore_ascii_case(key);
            let meant = fields.iter_mut().filter(|(name, _)| is_meant(name));
            let found: Vec<String> =
                meant.filter_map(|(name, field)| hide(rest, field, hidden).then(|| name.clone())).collect();
            hide_raw_forms(fields, &found);
            !found.is_empty()
        }
        _ => false,
    }
}

/// Of the fields in which something was hidden.
fn hide_raw_forms(fields: &mut Map<String, Value>, found: &[String]) {
    let meant = RAW_FORMS.iter().filter(|(parsed, _)| found.iter().any(|name| name == parsed));
    for raw_form in meant.flat_map(|(_, raw_forms)| raw_forms.iter()) {
        if let Some(raw) = fields.get_mut(*raw_form) {
            *raw = Value::String(REDACTED.to_owned());
        }
    }
}

/// At every depth, the innermost last: what was hidden is not entered.
fn hide_deep(keys: &[String], value: &mut Value, hidden: &mut Hidden) -> bool {
    let mut found = hide(keys, value, hidden);
    match value {
        Value::Array(items) => {
            for item in items {
                found |= hide_deep(keys, item, hidden);
            }
        }
        Value::Object(fields) => {
            let mut within = Vec::new();
            for (name, field) in fields.iter_mut() {
                if hide_deep(keys, field, hidden) {
                    within.push(name.clone());
                }
            }
            hide_raw_forms(fields, &within);
            found |= !within.is_empty();
        }
        _ => {}
    }
    found
}

// === impl Redaction ===

impl Redaction {
    pub fn parse<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Self, RedactionError> {
        let paths = paths.into_iter().map(Path::parse).collect::<Result<Vec<_>, _>>()?;
        if paths.len() > PATHS_MAXIMUM {
            return Err(RedactionError::TooMany { found: paths.len() });
        }
        Ok(Self(paths))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Hides what the paths name in a value, and remembers the texts.
    pub fn apply(&self, value: &mut Value, hidden: &mut Hidden) {
        for path in &self.0 {
            path.apply(value, hidden);
        }
    }
}

// === impl Hidden ===

impl Hidden {
    /// All texts and numbers within a value.
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Number(number) => self.add_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if text != REDACTED
            && text.chars().count() >= HIDDEN_CHARACTERS_MINIMUM
            && !self.0.iter().any(|one| one == text)
        {
            self.0.push(text.to_owned());
        }
    }

    /// Replaces the hidden texts in a text, the longest first.
    pub fn mask_text(&self, text: &mut String) {
        let mut hidden: Vec<&String> = self.0.iter().collect();
        hidden.sort_by_key(|one| std::cmp::Reverse(one.len()));
        for one in hidden {
            if text.contains(one.as_str()) {
                *text = text.replace(one.as_str(), REDACTED);
            }
        }
    }

    /// The same in all texts of a value, also in keys and in numbers.
    pub fn mask(&self, value: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.mask_text(text),
            Value::Number(number) if self.0.contains(&number.to_string()) => {
                *value = Value::String(REDACTED.to_owned());
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Object(fields) => {
                let masked = std::mem::take(fields).into_iter().map(|(mut name, mut field)| {
                    self.mask_text(&mut name);
                    self.mask(&mut field);
                    (name, field)
                });
                *fields = masked.collect();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
