//! Data stores: key-value stores that the sources and workflows of an account share.
//!
//! A component asks for them through the same host function as for its own `db`, with keys of a form that no other key has.
//! `platform/src/data_stores/prelude.js` writes these keys, and the values, in the same form.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Longest name of a data store.
pub const NAME_BYTES: usize = 100;
/// How much longer a key is for the host function than for the user: what stands before it, and the id.
pub const KEY_OVERHEAD_BYTES: usize = 22;
/// Longest time to live: about a year.
pub const TTL_SECONDS_MAXIMUM: u64 = 366 * 24 * 60 * 60;

const STORE: &str = "\0store/";
const KEYS: &str = "\0keys/";
const VALUE: &str = "\0data/";

/// What a component asks for with a key of `db`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// The id of the store with this id or name.
    Store {
        name: &'a str,
    },
    /// A page of keys.
    Keys {
        store: &'a str,
        after: &'a str,
    },
    Value {
        store: &'a str,
        key: &'a str,
    },
}

/// A key as people are shown it: that of a data store with the store's id before it.
pub fn shown(key: &str) -> Cow<'_, str> {
    match Asked::parse(key) {
        Some(Asked::Value { store, key }) => Cow::Owned(format!("{store}/{key}")),
        _ => Cow::Borrowed(key),
    }
}

/// A value as it is stored. The time comes first, so that a reader finds it without reading the value.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry<'a> {
    /// From when on there is none.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    #[serde(rename = "v", borrow)]
    pub value: &'a RawValue,
}

// === impl Asked ===

impl<'a> Asked<'a> {
    pub fn parse(key: &'a str) -> Option<Self> {
        if let Some(name) = key.strip_prefix(STORE) {
            return Some(Self::Store { name });
        }
        if let Some((store, after)) = key.strip_prefix(KEYS).and_then(|rest| rest.split_once('/')) {
            return Some(Self::Keys { store, after });
        }
        let (store, key) = key.strip_prefix(VALUE)?.split_once('/')?;
        Some(Self::Value { store, key })
    }
}

// === impl Entry ===

impl<'a> Entry<'a> {
    /// None of what is not one, which only a component that writes past `set` can leave.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_data_stores_are_told_from_keys_of_db() {
        assert_eq!(Asked::parse("\0store/orders"), Some(Asked::Store { name: "orders" }));
        assert_eq!(Asked::parse("\0keys/ds_1/a/b"), Some(Asked::Keys { store: "ds_1", after: "a/b" }));
        assert_eq!(Asked::parse("\0keys/ds_1/"), Some(Asked::Keys { store: "ds_1", after: "" }));
        assert_eq!(Asked::parse("\0data/ds_1/a/b"), Some(Asked::Value { store: "ds_1", key: "a/b" }));
        assert_eq!(Asked::parse("\0data/ds_1/"), Some(Asked::Value { store: "ds_1", key: "" }));
        assert_eq!((shown("\0data/ds_1/a/b").as_ref(), shown("a").as_ref()), ("ds_1/a/b", "a"));
        for own in ["", "data/ds_1/a", "\0data/ds_1", "\0other/a/b", "\0"] {
            assert_eq!(Asked::parse(own), None, "{own:?}");
        }
    }

    #[test]
    fn a_value_is_over_from_the_moment_it_expires() {
        let entry = Entry::parse(br#"{"e":1000,"v":{"a":[1]}}"#).unwrap();

        assert_eq!((entry.value.get(), entry.is_over(999), entry.is_over(1000)), (r#"{"a":[1]}"#, false, true));
        assert!(!Entry::parse(br#"{"v":null}"#).unwrap().is_over(u64::MAX));
        assert!(Entry::parse(b"1").is_none() && Entry::parse(b"{}").is_none());
    }

    #[test]
    fn a_key_is_as_much_longer_as_it_is_said() {
        let id = crate::ids::DataStoreId::from_random([7; 16]);
        assert_eq!(format!("{VALUE}{id}/").len(), KEY_OVERHEAD_BYTES);
    }
}
