//! Wrapping every stored secret under the current encryption key, while the server runs.

use domain::ids::UserId;
use store::Tenant;

use super::first_start;
use crate::flow::secrets_context;
use crate::records::shelf::{self, Kept};
use crate::records::{Account, Source, Stored, User, Webhook, names};
use crate::vault::{Context, Sealed};
use crate::{Error, Platform};

/// How many secrets were wrapped anew. Safe to repeat: what is under the current key is left alone. A record that
/// changes meanwhile is an error of `Changed`; run it again.
pub async fn rewrap_all(platform: &Platform) -> Result<usize, Error> {
    let users = shelf::list_all::<User>(&*platform.store, &names::operator()).await?;
    let mut count = first_start::rewrap_check(platform).await?;
    for user in users {
        count += rewrap_tenant(platform, &user.record.id).await?;
    }
    Ok(count)
}

async fn rewrap_tenant(platform: &Platform, user: &UserId) -> Result<usize, Error> {
    let tenant = names::tenant(user);
    let accounts = rewrap_kind(platform, &tenant, |account: &mut Account| {
        Some((Place::Of { record: account.id.to_string(), field: "credentials" }, &mut account.credentials))
    });
    let webhooks = rewrap_kind(platform, &tenant, |webhook: &mut Webhook| {
        Some((Place::Of { record: webhook.id.to_string(), field: "signing_secret" }, &mut webhook.signing_secret))
    });
    let sources = rewrap_kind(platform, &tenant, |source: &mut Source| {
        Some((Place::Source(source.id.to_string()), source.revision.secrets.as_mut()?))
    });
    Ok(accounts.await? + webhooks.await? + sources.await?)
}

/// Where a secret belongs, owned: the record it is in is borrowed for writing.
enum Place {
    Of { record: String, field: &'static str },
    Source(String),
}

async fn rewrap_kind<R: Stored + Clone + Sync>(
    platform: &Platform,
    tenant: &Tenant,
    secret: impl Fn(&mut R) -> Option<(Place, &mut Sealed)> + Send,
) -> Result<usize, Error> {
    let mut count = 0;
    for mut kept in shelf::list_all::<R>(&*platform.store, tenant).await? {
        let Some((place, sealed)) = secret(&mut kept.record) else {
            continue;
        };
        if let Some(rewrapped) = platform.vault.rewrap(place.context(tenant), sealed)? {
            *sealed = rewrapped;
            put(platform, tenant, &kept).await?;
            count += 1;
        }
    }
    Ok(count)
}

async fn put<R: Stored + Sync>(platform: &Platform, tenant: &Tenant, kept: &Kept<R>) -> Result<(), Error> {
    let batch = platform.batch(tenant).require(shelf::unchanged(kept)).then(shelf::put(&kept.record)?);
    platform.store.commit(batch).await?;
    Ok(())
}

// === impl Place ===

impl Place {
    fn context<'a>(&'a self, tenant: &'a Tenant) -> Context<'a> {
        match self {
            Self::Of { record, field } => Context { tenant: tenant.as_str(), record, field },
            Self::Source(id) => secrets_context(tenant, id),
        }
    }
}
