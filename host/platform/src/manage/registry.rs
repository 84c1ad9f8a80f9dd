//! Components that all users may use, under keys that are unique in the whole registry.
//!
//! They are the operator's own saved components. A source keeps the version it was deployed from: publishing again
//! moves the key, and unpublishing takes it away, without touching what runs.

use store::Lookup;

use super::code::{self, CodeRequest};
use crate::records::{Component, Kept, names, table};
use crate::{Caller, Error, Noun, Platform};

pub async fn find(platform: &Platform, key: &str) -> Result<Component, Error> {
    Ok(holder(platform, key).await?.record)
}

/// Publishes new code under its key. Spec: "components published to the registry must use semantic versioning".
pub async fn publish(caller: &Caller, platform: &Platform, request: CodeRequest) -> Result<Component, Error> {
    caller.require_admin()?;
    let (mut component, program) = code::compile(caller, platform, request).await?;
    component.description.check_registry().map_err(Error::Component)?;
    let operator = names::operator();
    code::save(platform, &operator, (&component, &program), &[]).await?;
    code::take_key(platform, &operator, &mut component).await?;
    Ok(component)
}

pub async fn unpublish(caller: &Caller, platform: &Platform, key: &str) -> Result<(), Error> {
    caller.require_admin()?;
    let mut kept = holder(platform, key).await?;
    let unchanged = table::unchanged(&kept);
    kept.record.holds_key = false;
    let batch = platform.batch(&names::operator()).require(unchanged).then(table::put(&kept.record)?);
    platform.store.commit(batch).await?;
    Ok(())
}

async fn holder(platform: &Platform, key: &str) -> Result<Kept<Component>, Error> {
    let found = table::find::<Component>(&*platform.store, &names::operator(), Lookup::Alias(key)).await?;
    found.ok_or_else(|| Error::not_found(Noun::RegistryComponent, key))
}
