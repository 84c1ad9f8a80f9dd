//! A new encryption key, and wrapping every stored secret under it, while the server runs.
//!
//! Safe to stop anywhere: the old keys stay beside the new one, so everything opens at every moment, and wrapping again
//! goes on where it stopped. The check of the installation is wrapped last: while it is under an old key, a rotation
//! is unfinished.

use async_recursion::async_recursion as boxed;
use domain::ids::UserId;
use serde::Serialize;
use store::Tenant;

use super::{first_start, recordings};
use crate::records::table::{self, Kept};
use crate::records::{Account, AppClient, Source, SourceHistory, Stored, User, Webhook, WorkflowVersion, names};
use crate::vault::{Context, Sealed};
use crate::{Caller, Error, Platform, sealed_props};

/// Records that change meanwhile are read again.
const TRIES: usize = 16;

#[derive(Debug, Serialize)]
pub struct Rotation {
    /// Names the key everything is under now.
    pub key_id: String,
    /// How many secrets were wrapped anew.
    pub rewrapped: usize,
}

/// Makes a new key and wraps everything under it. With `resume` no key is made: what an earlier rotation left is
/// wrapped, and after the operator has given a new key.
pub async fn rotate(caller: &Caller, platform: &Platform, resume: bool) -> Result<Rotation, Error> {
    caller.require_admin()?;
    if !resume && !platform.vault.add_key()? {
        return Err(Error::KeysGiven);
    }
    let rewrapped = rewrap_all(platform).await?;
    Ok(Rotation { key_id: platform.vault.current_key_id(), rewrapped })
}

/// How many secrets were wrapped anew. Safe to repeat: what is under the current key is left alone.
#[boxed]
pub async fn rewrap_all(platform: &Platform) -> Result<usize, Error> {
    let users = table::list_all::<User>(&*platform.store, &names::operator()).await?;
    let mut count = rewrap_clients(platform, &names::operator()).await?;
    for user in users {
        count += rewrap_tenant(platform, &user.record.id).await?;
    }
    Ok(count + first_start::rewrap_check(platform).await?)
}

async fn rewrap_tenant(platform: &Platform, user: &UserId) -> Result<usize, Error> {
    let tenant = names::tenant(user);
    let accounts = rewrap_kind(platform, &tenant, |account: &mut Account| {
        vec![(SecretLocation::of(&account.id, "credentials"), &mut account.credentials)]
    });
    let grants = rewrap_kind(platform, &tenant, |account: &mut Account| {
        let grants = account.grant.iter_mut();
        grants.map(|grant| (SecretLocation::of(&account.id, "grant"), &mut grant.secrets)).collect()
    });
    let clients = rewrap_clients(platform, &tenant);
    let webhooks = rewrap_kind(platform, &tenant, |webhook: &mut Webhook| {
        let previous = webhook.previous_secret.as_mut().map(|previous| &mut previous.secret);
        let secrets = [Some(&mut webhook.signing_secret), previous].into_iter().flatten();
        secrets.map(|secret| (SecretLocation::of(&webhook.id, "signing_secret"), secret)).collect()
    });
    let sources = rewrap_kind(platform, &tenant, |source: &mut Source| {
        let secrets = source.revision.secrets.iter_mut();
        secrets.map(|secrets| (SecretLocation::of(&source.id, sealed_props::FIELD), secrets)).collect()
    });
    let histories = rewrap_kind(platform, &tenant, |history: &mut SourceHistory| {
        let secrets = history.versions.iter_mut().filter_map(|version| version.secrets.as_mut());
        secrets.map(|secrets| (SecretLocation::of(&history.source, sealed_props::FIELD), secrets)).collect()
    });
    let workflows = rewrap_kind(platform, &tenant, |version: &mut WorkflowVersion| {
        let secrets = version.secrets.iter_mut();
        secrets.map(|secrets| (SecretLocation::of(&version.workflow, sealed_props::FIELD), secrets)).collect()
    });
    let recordings = recordings::rewrap(platform, &tenant);
    let of_accounts = accounts.await? + grants.await? + clients.await?;
    let of_code = sources.await? + histories.await? + workflows.await?;
    Ok(recordings.await? + of_accounts + webhooks.await? + of_code)
}

/// Clients of apps: the operator's, or a tenant's own.
async fn rewrap_clients(platform: &Platform, tenant: &Tenant) -> Result<usize, Error> {
    rewrap_kind(platform, tenant, |client: &mut AppClient| {
        vec![(SecretLocation::of(&client.app, "client_secret"), &mut client.client_secret)]
    })
    .await
}

/// Where a secret is stored, owned: the record it is in is borrowed for writing.
struct SecretLocation {
    record: String,
    field: &'static str,
}

async fn rewrap_kind<R: Stored + Clone + Sync>(
    platform: &Platform,
    tenant: &Tenant,
    secrets: impl Fn(&mut R) -> Vec<(SecretLocation, &mut Sealed)> + Send,
) -> Result<usize, Error> {
    let mut count = 0;
    for _ in 0..TRIES {
        let mut has_changed = false;
        for mut kept in table::list_all::<R>(&*platform.store, tenant).await? {
            let mut rewrapped = 0;
            for (location, sealed) in secrets(&mut kept.record) {
                if let Some(anew) = platform.vault.rewrap(location.context(tenant), sealed)? {
                    *sealed = anew;
                    rewrapped += 1;
                }
            }
            if rewrapped == 0 {
                continue;
            }
            match put(platform, tenant, &kept).await {
                Ok(()) => count += rewrapped,
                Err(Error::Changed) => has_changed = true,
                Err(error) => return Err(error),
            }
        }
        if !has_changed {
            return Ok(count);
        }
    }
    Err(Error::Changed)
}

async fn put<R: Stored + Sync>(platform: &Platform, tenant: &Tenant, kept: &Kept<R>) -> Result<(), Error> {
    let batch = platform.batch(tenant).require(table::unchanged(kept)).then(table::put(&kept.record)?);
    platform.store.commit(batch).await?;
    Ok(())
}

// === impl SecretLocation ===

impl SecretLocation {
    fn of(record: &impl ToString, field: &'static str) -> Self {
        Self { record: record.to_string(), field }
    }

    fn context<'a>(&'a self, tenant: &'a Tenant) -> Context<'a> {
        Context { tenant: tenant.as_str(), record: &self.record, field: self.field }
    }
}
