//! Lookups that come before a tenant is known: a hashed API key, the key of an endpoint.
//!
//! Entries live outside any partition, so they cannot be part of a batch. Write one before the batch
//! that makes it true and remove it after the batch that ends it: an orphan points at something the
//! reader does not find, which is harmless.

use async_trait::async_trait;
use bytes::Bytes;

use crate::Error;

#[async_trait]
pub trait Directory: Send + Sync {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error>;

    /// True when the entry is now as asked; false only when a `Claim` found another value.
    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryWrite {
    Put {
        key: String,
        value: Bytes,
    },
    /// Written unless the key already has another value: the way to make a name unique everywhere.
    Claim {
        key: String,
        value: Bytes,
    },
    Remove {
        key: String,
    },
}
