//! Parameters of a request: from the query string and from the JSON body, where the body wins.
//!
//! `null` counts as absent, and text from a query string as what it spells: `true` is a flag, `10` a number.

use std::collections::BTreeMap;

use domain::fields::FieldSelection;
use domain::ids::RunId;
use domain::keys::Scopes;
use domain::paging::{Cursor, Limit, PageQuery};
use domain::problem::did_you_mean;
use percent_encoding::percent_decode_str;
use platform::{Error, ParameterError};
use serde_json::{Map, Value};

use super::Refusal;
use crate::route::Parameter;

#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(Map<String, Value>);

/// The parts of a path between its slashes, decoded; one slash at the end is as good as none.
pub(crate) fn parse_path(path: &str) -> Result<Vec<String>, Refusal> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').map(|segment| decode(segment, "path")).collect()
}

pub(crate) fn parse_query(query: &str) -> Result<Map<String, Value>, Refusal> {
    let mut parameters = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let part = |text: &str| decode(&text.replace('+', " "), "query string");
        parameters.insert(part(name)?, Value::String(part(value)?));
    }
    Ok(parameters)
}

/// A value of JSON takes some two bytes of text and some sixty of memory: this many take 16 MB.
pub(crate) const MAX_VALUES: usize = 250_000;

/// The body as JSON; an empty one is none.
pub(crate) fn parse_body(body: &[u8]) -> Result<Option<Value>, Refusal> {
    if body.is_empty() {
        return Ok(None);
    }
    if values_at_most(body) > MAX_VALUES {
        return Err(Refusal::TooManyValues { limit: MAX_VALUES });
    }
    let parsed = serde_json::from_slice(body);
    parsed.map(Some).map_err(|error| Refusal::MalformedJson {
        message: error.to_string(),
        line: error.line(),
        column: error.column(),
    })
}

/// How many values a text of JSON holds, at most: each but the first follows a comma or opens an object or a list.
pub(crate) fn values_at_most(json: &[u8]) -> usize {
    let (mut is_text, mut is_escaped, mut count) = (false, false, 1);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Refuses parameters that a strict route does not know, and those that were given without a value.
pub(crate) fn check_strict(
    known: &[Parameter],
    query: &Map<String, Value>,
    body: Option<&Value>,
) -> Result<(), Refusal> {
    /// Every route takes these; they select what is shown, and not what is done.
    const OF_THE_ANSWER: [&str; 2] = ["include", "exclude"];
    let given = query.iter().chain(body.and_then(Value::as_object).into_iter().flatten());
    for (name, value) in given.filter(|(name, _)| !OF_THE_ANSWER.contains(&name.as_str())) {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
            let hint = did_you_mean(name, known.iter().map(|parameter| parameter.name));
            return Err(Refusal::UnknownParameter { name: name.chars().take(64).collect(), hint });
        };
        let is_empty = value.is_null() || (value == "" && !parameter.may_be_empty);
        if is_empty {
            return Err(Refusal::EmptyParameter { name: parameter.name });
        }
    }
    Ok(())
}

/// Refuses a cursor that a list does not take: a client that follows it would get the same page again and again.
pub(crate) fn check_cursors(known: &[Parameter], query: &Map<String, Value>) -> Result<(), Refusal> {
    let is_known = |name: &str| known.iter().any(|parameter| parameter.name == name);
    let how = if is_known("after") { "goes forth only, with `after`" } else { "has no pages: it comes whole" };
    match ["after", "before"].into_iter().find(|name| query.contains_key(*name) && !is_known(name)) {
        Some(name) => Err(Refusal::NoCursor { name, how }),
        None => Ok(()),
    }
}

// === impl Parameters ===

impl Parameters {
    pub(crate) fn new(mut query: Map<String, Value>, body: Option<&Value>) -> Result<Self, Refusal> {
        match body {
            None => {}
            Some(Value::Object(fields)) => {
                // Nothing is as good as absent, so it does not hide what the query string says.
                let given = fields.iter().filter(|(_, value)| !value.is_null());
                query.extend(given.map(|(name, value)| (name.clone(), value.clone())));
            }
            Some(_) => return Err(Refusal::NotAnObject),
        }
        Ok(Self(query))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Error::expected(name, "a string")),
        }
    }

    pub(crate) fn required_text(&self, name: &'static str) -> Result<String, Error> {
        match self.text(name)? {
            None => Err(Error::Missing { name }),
            Some(text) if text.is_empty() => Err(Error::parameter(name, ParameterError::Empty)),
            Some(text) => Ok(text),
        }
    }

    /// A text that may be given as an empty one, which is none.
    pub(crate) fn filled_text(&self, name: &'static str) -> Result<Option<String>, Error> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(Error::expected(name, "true or false")),
        }
    }

    pub(crate) fn whole_number(&self, name: &'static str) -> Result<Option<u64>, Error> {
        let number = match self.0.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_u64(),
        };
        number.map(Some).ok_or_else(|| Error::expected(name, "a whole number of at least 0"))
    }

    pub(crate) fn object(&self, name: &'static str) -> Result<Option<Map<String, Value>>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields.clone())),
            Some(_) => Err(Error::expected(name, "an object")),
        }
    }

    pub(crate) fn texts(&self, name: &'static str) -> Result<BTreeMap<String, String>, Error> {
        let fields = self.object(name)?.unwrap_or_default();
        let texts = fields.into_iter().map(|(key, value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(Error::expected(name, "an object of strings")),
        });
        texts.collect()
    }

    /// Scopes of a key: a list, or their names separated by commas, as a query string has it.
    pub(crate) fn scopes(&self, name: &'static str) -> Result<Option<Scopes>, Error> {
        let names: Vec<&str> = match self.0.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) if text.is_empty() => return Ok(None),
            Some(Value::String(text)) => text.split(',').map(str::trim).collect(),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                names.iter().filter_map(Value::as_str).collect()
            }
            Some(_) => return Err(Error::expected(name, "a list of scopes")),
        };
        Scopes::parse(names).map(Some).map_err(|error| Error::parameter(name, error))
    }

    /// A list of texts.
    pub(crate) fn list(&self, name: &'static str) -> Result<Option<Vec<String>>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {
                Ok(Some(texts.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
            }
            Some(_) => Err(Error::expected(name, "a list of strings")),
        }
    }

    /// All of them, as they were given.
    pub(crate) fn all(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Any JSON.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned()
    }

    /// `include` and `exclude`.
    pub(crate) fn fields(&self) -> Result<FieldSelection, Error> {
        Ok(FieldSelection::parse(self.text("include")?.as_deref(), self.text("exclude")?.as_deref()))
    }

    pub(crate) fn limit(&self) -> Result<Limit, Error> {
        Limit::parse(self.0.get("limit")).map_err(|error| Error::parameter("limit", error))
    }

    /// A cursor of a list of runs.
    pub(crate) fn run_id(&self, name: &'static str) -> Result<Option<RunId>, Error> {
        let id = self.filled_text(name)?.map(|id| RunId::parse(&id));
        id.transpose().map_err(|error| Error::parameter(name, error))
    }

    /// `limit`, `after` and `before` of a list of records.
    pub(crate) fn page(&self) -> Result<PageQuery, Error> {
        let cursor = |name: &'static str| match self.text(name)? {
            None => Ok(None),
            Some(text) => Cursor::parse(&text).map(Some).map_err(|error| Error::parameter(name, error)),
        };
        Ok(PageQuery { limit: self.limit()?, after: cursor("after")?, before: cursor("before")? })
    }
}

fn decode(text: &str, part: &'static str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Refusal::NotUtf8 { part })
}

#[cfg(test)]
mod tests;
