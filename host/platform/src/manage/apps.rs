//! Apps that accounts can be connected to: those that ship with the server, and those that the operator registers.

use domain::apps::{self, Provider};
use domain::paging::{Cursor, PageInfo, PageQuery, slice};
use serde::Serialize;
use serde_json::Value;
use store::Lookup;

use super::clients;
use crate::paging::{self, Listed, PageOf};
use crate::providers::find_provider;
use crate::records::{App, AuthType, ClientOwner, names, table};
use crate::{Caller, Error, Noun, Platform};

#[derive(Clone, Debug, Serialize)]
pub struct AppView {
    pub name_slug: String,
    pub name: String,
    pub auth_type: AuthType,
    /// Whether it came with the server.
    pub shipped: bool,
    /// Epoch seconds; 0 for an app that came with the server.
    pub created_at: u64,
    pub updated_at: u64,
}

/// An app with what is needed to connect an account of it.
#[derive(Debug, Serialize)]
pub struct AppDetails {
    #[serde(flatten)]
    pub app: AppView,
    /// Whose client accounts are connected with, when the app needs one and there is one.
    pub client: Option<ClientOwner>,
    pub needs_client: bool,
    /// What has to be registered with the service.
    pub redirect_uri: String,
    /// The provider file.
    pub provider: Provider,
}

#[derive(Debug)]
pub struct NewApp {
    pub name_slug: String,
    pub name: Option<String>,
    pub auth_type: AuthType,
    /// The provider file, when more than the name is known. Its slug and name are the app's.
    pub provider: Option<Value>,
}

/// Registers an app, or changes the one of that slug. One that ships with the server is replaced until it is deleted.
pub async fn put(caller: &Caller, platform: &Platform, new: NewApp) -> Result<App, Error> {
    caller.require_admin()?;
    let NewApp { name_slug, name, auth_type, provider } = new;
    let provider = provider.as_ref().map(Provider::parse).transpose().map_err(Error::Provider)?;
    let (name_slug, name, auth_type) = match &provider {
        Some(provider) => (provider.slug.clone(), Some(provider.name.clone()), AuthType::of(&provider.auth)),
        None => (name_slug, name, auth_type),
    };
    let is_slug = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    if name_slug.is_empty() || name_slug.len() > 64 || !name_slug.bytes().all(is_slug) {
        return Err(Error::expected("name_slug", "1 to 64 of a-z, 0-9 and _, such as google_drive"));
    }
    let now = platform.clock.now_seconds();
    let operator = names::operator();
    let found = table::find::<App>(&*platform.store, &operator, Lookup::Id(&name_slug)).await?;
    let created_at = found.map_or(now, |kept| kept.record.created_at);
    let name = name.unwrap_or_else(|| name_slug.clone());
    let app = App { name_slug, name, auth_type, provider, created_at, updated_at: now };
    platform.store.commit(platform.batch(&operator).then(table::put(&app)?)).await?;
    Ok(app)
}

/// The operator's and those that ship, by slug.
pub async fn list(_caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<AppView>, Error> {
    let Listed { items, unreadable } = paging::all::<App>(&names::operator(), platform).await?;
    let mut all: Vec<AppView> = items.into_iter().map(AppView::from).collect();
    let is_replaced = |provider: &&Provider| {
        !unreadable.contains(&provider.slug) && !all.iter().any(|app| app.name_slug == provider.slug)
    };
    let shipped: Vec<AppView> = apps::catalogue().iter().filter(is_replaced).map(AppView::shipped).collect();
    all.extend(shipped);
    all.sort_by(|left, right| left.name_slug.cmp(&right.name_slug));
    let items = slice(&all, query, |app, cursor| app.name_slug.as_str().cmp(cursor.id())).to_vec();
    let cursors: Vec<String> = items.iter().map(|app| Cursor::of(app.name_slug.clone()).encode()).collect();
    let info = PageInfo { unreadable, ..PageInfo::new(all.len(), &cursors) };
    Ok(PageOf { items, info })
}

/// An app, and whether it can be connected.
pub async fn find(caller: &Caller, platform: &Platform, name_slug: &str) -> Result<AppDetails, Error> {
    let found = table::find::<App>(&*platform.store, &names::operator(), Lookup::Id(name_slug)).await?;
    let provider = find_provider(platform, name_slug).await?.into_owned();
    let app = found.map_or_else(|| AppView::shipped(&provider), |kept| AppView::from(kept.record));
    let needs_client = provider.auth.needs_client();
    let client = match needs_client {
        true => clients::owner(platform, &caller.tenant, name_slug).await?,
        false => None,
    };
    Ok(AppDetails { app, client, needs_client, redirect_uri: platform.redirect_uri(), provider })
}

/// Accounts that are connected to it stay and can still be deleted. What ships with the server cannot be deleted.
pub async fn delete(caller: &Caller, platform: &Platform, name_slug: &str) -> Result<(), Error> {
    caller.require_admin()?;
    let found = table::find::<App>(&*platform.store, &names::operator(), Lookup::Id(name_slug)).await?;
    let app = found.ok_or_else(|| Error::not_found(Noun::App, name_slug))?.record;
    platform.store.commit(platform.batch(&names::operator()).then(table::delete(&app))).await?;
    Ok(())
}

// === impl AppView ===

impl AppView {
    fn shipped(provider: &Provider) -> Self {
        let (name_slug, name) = (provider.slug.clone(), provider.name.clone());
        let auth_type = AuthType::of(&provider.auth);
        Self { name_slug, name, auth_type, shipped: true, created_at: 0, updated_at: 0 }
    }
}

impl From<App> for AppView {
    fn from(app: App) -> Self {
        let App { name_slug, name, auth_type, created_at, updated_at, .. } = app;
        Self { name_slug, name, auth_type, shipped: false, created_at, updated_at }
    }
}
