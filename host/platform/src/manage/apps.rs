//! Apps that accounts can be connected to; the operator registers them.

use domain::paging::PageQuery;
use serde::Serialize;
use store::Lookup;

use crate::paging::{PageOf, page};
use crate::records::{App, AuthType, names, table};
use crate::{Caller, Error, Noun, Platform};

#[derive(Debug, Serialize)]
pub struct AppView {
    pub name_slug: String,
    pub name: String,
    pub auth_type: AuthType,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Debug)]
pub struct NewApp {
    pub name_slug: String,
    pub name: Option<String>,
    pub auth_type: AuthType,
}

/// Registers an app, or changes the one of that slug.
pub async fn put(caller: &Caller, platform: &Platform, new: NewApp) -> Result<App, Error> {
    caller.require_admin()?;
    let NewApp { name_slug, name, auth_type } = new;
    let is_slug = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    if name_slug.is_empty() || name_slug.len() > 64 || !name_slug.bytes().all(is_slug) {
        return Err(Error::expected("name_slug", "1 to 64 of a-z, 0-9 and _, such as google_drive"));
    }
    let now = platform.clock.now_seconds();
    let operator = names::operator();
    let found = table::find::<App>(&*platform.store, &operator, Lookup::Id(&name_slug)).await?;
    let created_at = found.map_or(now, |kept| kept.record.created_at);
    let name = name.unwrap_or_else(|| name_slug.clone());
    let app = App { name_slug, name, auth_type, created_at, updated_at: now };
    platform.store.commit(platform.batch(&operator).then(table::put(&app)?)).await?;
    Ok(app)
}

pub async fn list(_caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<App>, Error> {
    page(&names::operator(), platform, query).await
}

/// Accounts that are connected to it stay and can still be deleted.
pub async fn delete(caller: &Caller, platform: &Platform, name_slug: &str) -> Result<(), Error> {
    caller.require_admin()?;
    let app = find_app(platform, name_slug).await?;
    platform.store.commit(platform.batch(&names::operator()).then(table::delete(&app))).await?;
    Ok(())
}

pub(super) async fn find_app(platform: &Platform, name_slug: &str) -> Result<App, Error> {
    let found = table::find::<App>(&*platform.store, &names::operator(), Lookup::Id(name_slug)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::App, name_slug))?.record)
}

// === impl AppView ===

impl From<App> for AppView {
    fn from(app: App) -> Self {
        let App { name_slug, name, auth_type, created_at, updated_at } = app;
        Self { name_slug, name, auth_type, created_at, updated_at }
    }
}
