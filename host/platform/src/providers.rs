//! How accounts of an app are connected and used: the provider file of the app, and the client that is registered with its service.

use std::borrow::Cow;

use domain::apps::{self, Auth, Provider};
use store::{Lookup, Tenant};

use crate::records::{App, AppClient, AuthType, ClientOwner, names, table};
use crate::vault::Context;
use crate::{Error, Noun, Platform, Secret};

/// The field that is sealed.
pub(crate) const SECRET: &str = "client_secret";

/// A client with its secret in the clear.
pub(crate) struct OpenClient {
    pub(crate) id: String,
    pub(crate) secret: Secret<String>,
    pub(crate) owner: ClientOwner,
    pub(crate) scopes: Option<Vec<String>>,
}

/// The provider file of an app: the operator's word counts before what ships.
pub(crate) async fn find_provider(platform: &Platform, name_slug: &str) -> Result<Cow<'static, Provider>, Error> {
    let found = table::find::<App>(&*platform.store, &names::operator(), Lookup::Id(name_slug)).await?;
    let shipped = apps::shipped(name_slug);
    match (found, shipped) {
        (Some(kept), shipped) => Ok(match (kept.record, shipped) {
            (App { provider: Some(provider), .. }, _) => Cow::Owned(provider),
            // Registered by its name, before it shipped.
            (_, Some(shipped)) => Cow::Borrowed(shipped),
            (App { name_slug, name, auth_type, .. }, None) => {
                let auth = if auth_type == AuthType::None { Auth::None } else { Auth::Keys };
                Cow::Owned(Provider::bare(&name_slug, &name, auth))
            }
        }),
        (None, Some(shipped)) => Ok(Cow::Borrowed(shipped)),
        (None, None) => Err(Error::not_found(Noun::App, name_slug)),
    }
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
    let secret = platform.vault.open(sealing(&tenant, app), &client_secret)?;
    let secret = Secret::new(String::from_utf8_lossy(secret.expose()).into_owned());
    Ok(Some(OpenClient { id: client_id, secret, owner, scopes }))
}

/// What the secret of a client is sealed for.
pub(crate) fn sealing<'a>(tenant: &'a Tenant, app: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record: app, field: SECRET }
}
