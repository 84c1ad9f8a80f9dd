//! A value that must not end up in a log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Debug-prints as `Secret(…)`; code that needs the value says so with [`Secret::expose`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret<Value>(Value);

// === impl Secret ===

impl<Value> Secret<Value> {
    pub fn new(value: Value) -> Self {
        Self(value)
    }

    pub fn expose(&self) -> &Value {
        &self.0
    }

    pub fn into_exposed(self) -> Value {
        self.0
    }
}

impl<Value> fmt::Debug for Secret<Value> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}
