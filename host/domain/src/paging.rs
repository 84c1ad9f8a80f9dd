//! Lists in pages, newest first.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Spec, Limits: "default 10, minimum 1, maximum 100".
pub const LIMIT_DEFAULT: usize = 10;
pub const LIMIT_MAXIMUM: usize = 100;

/// How many items a page holds, 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(usize);

/// A place in a list; opaque to clients, the id of an item to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(String);

/// Which page is asked for. Both cursors exclude the item they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    pub limit: Limit,
    /// Items that come after this one in the list.
    pub after: Option<Cursor>,
    /// Items that come before this one in the list.
    pub before: Option<Cursor>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    pub total_count: usize,
    pub count: usize,
    /// Null on an empty page: clients loop until then.
    pub start_cursor: Option<String>,
    pub end_cursor: Option<String>,
    /// Ids of items that belong here and are left out, because a newer version wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagingError {
    #[error("limit must be a whole number of at least 1")]
    Limit,
    #[error("the cursor is not one that this list gave out")]
    Cursor,
}

/// The page of a whole list, newest first. `position` compares an item's place with a cursor's instead of looking the
/// item up, so a cursor outlives its item. `before` alone takes the items nearest to it, so that walking back shows
/// the pages that walking forth showed.
pub fn slice<'a, Item>(
    items: &'a [Item],
    query: &PageQuery,
    position: impl Fn(&Item, &Cursor) -> std::cmp::Ordering,
) -> &'a [Item] {
    let start = query.after.as_ref().map_or(0, |cursor| items.partition_point(|item| position(item, cursor).is_le()));
    let end = query
        .before
        .as_ref()
        .map_or(items.len(), |cursor| items.partition_point(|item| position(item, cursor).is_lt()));
    let window = items.get(start..end).unwrap_or_default();
    let size = query.limit.get().min(window.len());
    let walks_back = query.before.is_some() && query.after.is_none();
    let from = if walks_back { window.len() - size } else { 0 };
    window.get(from..from + size).unwrap_or_default()
}

// === impl Limit ===

impl Limit {
    /// Absent is the default; above the maximum is the maximum.
    pub fn parse(value: Option<&Value>) -> Result<Self, PagingError> {
        match value {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::String(text)) => Self::parse_text(text),
            Some(number) => Self::parse_text(&number.to_string()),
        }
    }

    pub fn parse_text(text: &str) -> Result<Self, PagingError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PagingError::Limit);
        }
        // Digits that do not fit a number are above the maximum too.
        match text.parse().unwrap_or(usize::MAX) {
            0 => Err(PagingError::Limit),
            limit => Ok(Self(limit.min(LIMIT_MAXIMUM))),
        }
    }

    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(LIMIT_DEFAULT)
    }
}

// === impl Cursor ===

impl Cursor {
    /// Longer than any id.
    const BYTES_MAXIMUM: usize = 256;

    pub fn of(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn parse(text: &str) -> Result<Self, PagingError> {
        if text.is_empty() || text.len() > Self::BYTES_MAXIMUM {
            return Err(PagingError::Cursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| PagingError::Cursor)?;
        String::from_utf8(bytes).map(Self).map_err(|_| PagingError::Cursor)
    }

    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    /// The id of the item, to be parsed by the caller, which knows its kind.
    pub fn id(&self) -> &str {
        &self.0
    }
}

// === impl PageInfo ===

impl PageInfo {
    /// `cursors` are those of the page's items, in order, already in the form clients see.
    pub fn new(total_count: usize, cursors: &[String]) -> Self {
        Self {
            total_count,
            count: cursors.len(),
            start_cursor: cursors.first().cloned(),
            end_cursor: cursors.last().cloned(),
            unreadable: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
