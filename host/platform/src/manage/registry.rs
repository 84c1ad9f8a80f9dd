//! Components that all users may use, under keys that are unique in the whole registry.
//!
//! They are the operator's own saved components. A source keeps the version it was deployed from: publishing again
//! moves the key, and unpublishing takes it away, without touching what runs.

use domain::component::Kind;
use domain::ids::ComponentId;
use domain::paging::PageQuery;
use serde::Serialize;
use store::Lookup;

use super::code::{self, CodeRequest};
use crate::paging::{PageOf, page};
use crate::records::{Component, Kept, names, table};
use crate::{Caller, Error, Noun, Platform};

/// What the list of the registry shows of a component: enough to find it, and not its code.
#[derive(Debug, Serialize)]
pub struct RegistryEntry {
    pub id: ComponentId,
    pub key: String,
    pub name: String,
    pub version: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The apps that it needs accounts of.
    pub apps: Vec<String>,
    pub updated_at: u64,
}

/// A page may have fewer than it was asked for: versions that no key names any more are left out.
pub async fn list(platform: &Platform, query: &PageQuery) -> Result<PageOf<RegistryEntry>, Error> {
    let PageOf { items, info } = page::<Component>(&names::operator(), platform, query).await?;
    let items = items.into_iter().filter(|component| component.holds_key).filter_map(RegistryEntry::of).collect();
    Ok(PageOf { items, info })
}

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

// === impl RegistryEntry ===

impl RegistryEntry {
    fn of(component: Component) -> Option<Self> {
        let description = component.description;
        let mut apps: Vec<String> = description.props.into_iter().filter_map(|prop| prop.app).collect();
        apps.sort_unstable();
        apps.dedup();
        Some(Self {
            id: component.id,
            key: description.key?,
            name: description.name,
            version: description.version,
            kind: description.kind,
            description: description.description,
            apps,
            updated_at: component.updated_at,
        })
    }
}
