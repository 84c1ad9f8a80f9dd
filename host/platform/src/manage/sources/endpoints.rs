//! The directory of endpoints: which source each key leads to.
//!
//! A key is written before the batch that gives it to a source, and removed after the batch that takes it away. So the
//! directory may hold entries whose source does not have the key; such an endpoint is not found.

use domain::ids::{EndpointKey, SourceId};
use serde_json::json;
use store::DirectoryWrite;

use crate::records::{Source, names};
use crate::{Caller, Error, Platform};

/// What an update does to the endpoints of a source.
pub(super) struct Change {
    added: Vec<EndpointKey>,
    removed: Vec<EndpointKey>,
}

pub(super) fn new_key(platform: &Platform) -> EndpointKey {
    EndpointKey::from_random(platform.entropy.bytes())
}

pub(super) async fn register(
    caller: &Caller,
    platform: &Platform,
    source: &SourceId,
    keys: impl IntoIterator<Item = &EndpointKey>,
) -> Result<(), Error> {
    for key in keys {
        let value = json!({"tenant": caller.tenant.as_str(), "source": source}).to_string().into();
        platform.store.write_directory(DirectoryWrite::Put { key: names::endpoint(key), value }).await?;
    }
    Ok(())
}

pub(in crate::manage) async fn remove(
    platform: &Platform,
    keys: impl IntoIterator<Item = &EndpointKey>,
) -> Result<(), Error> {
    for key in keys {
        platform.store.write_directory(DirectoryWrite::Remove { key: names::endpoint(key) }).await?;
    }
    Ok(())
}

// === impl Change ===

impl Change {
    pub(super) fn new(before: &Source, after: &Source) -> Self {
        let (had, has) = (before.endpoint_keys(), after.endpoint_keys());
        let added = has.difference(&had).map(|key| (*key).clone()).collect();
        let removed = had.difference(&has).map(|key| (*key).clone()).collect();
        Self { added, removed }
    }

    /// Before the update is committed.
    pub(super) async fn begin(&self, caller: &Caller, platform: &Platform, source: &SourceId) -> Result<(), Error> {
        register(caller, platform, source, &self.added).await
    }

    /// When the update was made, or is undone.
    pub(super) async fn end(self, platform: &Platform, is_updated: bool) {
        let unused = if is_updated { &self.removed } else { &self.added };
        if let Err(error) = remove(platform, unused).await {
            tracing::warn!(%error, "endpoints that are out of use were not removed");
        }
    }
}
