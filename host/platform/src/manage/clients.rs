//! Clients of apps: the id and secret that the operator, or a tenant, registered with a service.
//!
//! A tenant's own counts before the operator's. Secrets are sealed and never shown; no component sees them.

use serde::Serialize;
use store::{Lookup, Tenant};

use super::apps;
use crate::records::{AppClient, ClientOwner, names, table};
use crate::vault::Context;
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

const CLIENT_BYTES_MAXIMUM: usize = 4 << 10;
const SCOPES_MAXIMUM: usize = 100;
const FIELD: &str = "client_secret";

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

/// A client with its secret in the clear.
pub(crate) struct OpenClient {
    pub(crate) id: String,
    pub(crate) secret: Secret<String>,
    pub(crate) owner: ClientOwner,
    pub(crate) scopes: Option<Vec<String>>,
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
    let provider = apps::find_provider(platform, &new.app).await?;
    if !provider.auth.needs_client() {
        return Err(Error::WrongFlow { app: new.app, reason: "its accounts need no client" });
    }
    for (name, text) in [("client_id", &new.client_id), (FIELD, new.client_secret.expose())] {
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
        client_secret: platform.vault.seal(context(tenant, &new.app), new.client_secret.expose().as_bytes())?,
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

/// The client that new accounts of an app are connected with.
pub(crate) async fn open_any(platform: &Platform, tenant: &Tenant, app: &str) -> Result<OpenClient, Error> {
    for owner in [ClientOwner::Tenant, ClientOwner::Installation] {
        if let Some(client) = open(platform, tenant, app, owner).await? {
            return Ok(client);
        }
    }
    Err(Error::NoClient { app: app.to_owned() })
}

/// The client of this owner; none when it was deleted since.
pub(crate) async fn open(
    platform: &Platform,
    tenant: &Tenant,
    app: &str,
    owner: ClientOwner,
) -> Result<Option<OpenClient>, Error> {
    let tenant = match owner {
        ClientOwner::Tenant => tenant.clone(),
        ClientOwner::Installation => names::operator(),
        ClientOwner::Account => return Ok(None),
    };
    let Some(kept) = table::find::<AppClient>(&*platform.store, &tenant, Lookup::Id(app)).await? else {
        return Ok(None);
    };
    let AppClient { client_id, client_secret, scopes, .. } = kept.record;
    let secret = platform.vault.open(context(&tenant, app), &client_secret)?;
    let secret = Secret::new(String::from_utf8_lossy(secret.expose()).into_owned());
    Ok(Some(OpenClient { id: client_id, secret, owner, scopes }))
}

fn view(platform: &Platform, client: AppClient) -> ClientView {
    let AppClient { app, client_id, scopes, created_at, updated_at, .. } = client;
    ClientView { app, client_id, scopes, redirect_uri: platform.redirect_uri(), created_at, updated_at }
}

fn context<'a>(tenant: &'a Tenant, app: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record: app, field: FIELD }
}
