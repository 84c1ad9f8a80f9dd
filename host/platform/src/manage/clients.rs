//! Clients of apps: the id and secret that the operator, or a tenant, registered with a service.
//!
//! A tenant's own counts before the operator's. Secrets are sealed and never shown; no component sees them.

use serde::Serialize;
use store::{Lookup, Tenant};

use crate::providers::{SECRET, find_provider, sealing};
use crate::records::{AppClient, ClientOwner, names, table};
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

const CLIENT_BYTES_MAXIMUM: usize = 4 << 10;
const SCOPES_MAXIMUM: usize = 100;

#[derive(Debug)]
pub struct NewClient {
    pub app: String,
    pub client_id: String,
    /// Empty for a public client, which PKCE alone protects.
    pub client_secret: Secret<String>,
    pub scopes: Option<Vec<String>>,
}

/// What the API shows of a client.
#[derive(Debug, Serialize)]
pub struct ClientView {
    pub app: String,
    pub client_id: String,
    pub scopes: Option<Vec<String>>,
    /// What has to be registered with the service.
    pub redirect_uri: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The operator's, for all tenants.
pub async fn put_shared(caller: &Caller, platform: &Platform, new: NewClient) -> Result<ClientView, Error> {
    caller.require_admin()?;
    put(platform, &names::operator(), new).await
}

/// The tenant's own.
pub async fn put_own(caller: &Caller, platform: &Platform, new: NewClient) -> Result<ClientView, Error> {
    put(platform, &caller.tenant, new).await
}

async fn put(platform: &Platform, tenant: &Tenant, new: NewClient) -> Result<ClientView, Error> {
    let provider = find_provider(platform, &new.app).await?;
    if !provider.auth.needs_client() {
        return Err(Error::WrongFlow { app: new.app, reason: "its accounts need no client" });
    }
    for (name, text) in [("client_id", &new.client_id), (SECRET, new.client_secret.expose())] {
        if text.len() > CLIENT_BYTES_MAXIMUM {
            let source = ParameterError::TooLong { limit_bytes: CLIENT_BYTES_MAXIMUM, size_bytes: text.len() };
            return Err(Error::parameter(name, source));
        }
    }
    if new.client_id.is_empty() {
        return Err(Error::parameter("client_id", ParameterError::Empty));
    }
    if new.scopes.as_ref().is_some_and(|scopes| scopes.len() > SCOPES_MAXIMUM) {
        return Err(Error::expected("scopes", "at most 100 scopes"));
    }
    let found = table::find::<AppClient>(&*platform.store, tenant, Lookup::Id(&new.app)).await?;
    let now = platform.clock.now_seconds();
    let client = AppClient {
        client_secret: platform.vault.seal(sealing(tenant, &new.app), new.client_secret.expose().as_bytes())?,
        app: new.app,
        client_id: new.client_id,
        scopes: new.scopes,
        created_at: found.map_or(now, |kept| kept.record.created_at),
        updated_at: now,
    };
    platform.store.commit(platform.batch(tenant).then(table::put(&client)?)).await?;
    Ok(view(platform, client))
}

/// The tenant's own, without its secret.
pub async fn find_own(caller: &Caller, platform: &Platform, app: &str) -> Result<ClientView, Error> {
    Ok(view(platform, found(platform, &caller.tenant, app).await?))
}

pub async fn delete_shared(caller: &Caller, platform: &Platform, app: &str) -> Result<(), Error> {
    caller.require_admin()?;
    delete(platform, &names::operator(), app).await
}

pub async fn delete_own(caller: &Caller, platform: &Platform, app: &str) -> Result<(), Error> {
    delete(platform, &caller.tenant, app).await
}

async fn delete(platform: &Platform, tenant: &Tenant, app: &str) -> Result<(), Error> {
    let client = found(platform, tenant, app).await?;
    platform.store.commit(platform.batch(tenant).then(table::delete(&client))).await?;
    Ok(())
}

async fn found(platform: &Platform, tenant: &Tenant, app: &str) -> Result<AppClient, Error> {
    let found = table::find::<AppClient>(&*platform.store, tenant, Lookup::Id(app)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::AppClient, app))?.record)
}

/// Whose client new accounts are connected with.
pub(super) async fn owner(platform: &Platform, tenant: &Tenant, app: &str) -> Result<Option<ClientOwner>, Error> {
    for (owner, tenant) in [(ClientOwner::Tenant, tenant.clone()), (ClientOwner::Installation, names::operator())] {
        if table::find::<AppClient>(&*platform.store, &tenant, Lookup::Id(app)).await?.is_some() {
            return Ok(Some(owner));
        }
    }
    Ok(None)
}

fn view(platform: &Platform, client: AppClient) -> ClientView {
    let AppClient { app, client_id, scopes, created_at, updated_at, .. } = client;
    ClientView { app, client_id, scopes, redirect_uri: platform.redirect_uri(), created_at, updated_at }
}
