//! What an account holds, opened and sealed.

use std::collections::BTreeMap;

use domain::apps::names;
use domain::apps::oauth2::Tokens;
use domain::ids::AccountId;
use store::Tenant;

use crate::records::{Account, ClientOwner, Grant, GrantSecrets, RecordError};
use crate::vault::{Context, Sealed};
use crate::{Error, Platform, Secret};

/// `$auth`, by name.
pub(crate) type Credentials = BTreeMap<String, String>;

/// A token is refreshed this long before it expires, or after nine tenths of its life when that is later.
const MARGIN_MS: u64 = 5 * 60 * 1000;

/// Tokens as a provider gave them, and what is known of the account.
pub(crate) struct Granted {
    pub(crate) tokens: Tokens,
    pub(crate) client: ClientOwner,
    pub(crate) token_secret: Option<String>,
    pub(crate) uid: Option<String>,
    /// Those that were asked for, when the answer does not say.
    pub(crate) scopes: Vec<String>,
}

pub(crate) fn open_credentials(platform: &Platform, tenant: &Tenant, account: &Account) -> Result<Credentials, Error> {
    let context = Context { tenant: tenant.as_str(), record: account.id.as_str(), field: "credentials" };
    read(platform, context, &account.credentials)
}

pub(crate) fn seal_credentials(
    platform: &Platform,
    tenant: &Tenant,
    account: &AccountId,
    credentials: &Credentials,
) -> Result<Sealed, Error> {
    let context = Context { tenant: tenant.as_str(), record: account.as_str(), field: "credentials" };
    write(platform, context, credentials)
}

pub(crate) fn open_grant(
    platform: &Platform,
    tenant: &Tenant,
    account: &AccountId,
    grant: &Grant,
) -> Result<GrantSecrets, Error> {
    let context = Context { tenant: tenant.as_str(), record: account.as_str(), field: "grant" };
    read(platform, context, &grant.secrets)
}

/// The grant of an account: a first one, or the one after `before`. Providers that do not rotate refresh tokens leave it
/// out, and then the one before stays.
pub(crate) fn grant_of(
    platform: &Platform,
    tenant: &Tenant,
    account: &AccountId,
    granted: &Granted,
    before: Option<&Grant>,
) -> Result<Grant, Error> {
    let kept = before.map(|grant| open_grant(platform, tenant, account, grant)).transpose()?.unwrap_or_default();
    let secrets = GrantSecrets {
        refresh_token: granted.tokens.refresh_token.clone().or(kept.refresh_token),
        token_secret: granted.token_secret.clone().or(kept.token_secret),
    };
    let context = Context { tenant: tenant.as_str(), record: account.as_str(), field: "grant" };
    let now_ms = platform.clock.now_ms();
    let lifetime_ms = granted.tokens.expires_in_seconds.map(|seconds| seconds.saturating_mul(1000));
    let margin_ms = |lifetime_ms: u64| MARGIN_MS.min(lifetime_ms / 10);
    Ok(Grant {
        is_refreshable: secrets.refresh_token.is_some() || granted.client == ClientOwner::Account,
        secrets: write(platform, context, &secrets)?,
        client: granted.client,
        uid: granted.uid.clone().or_else(|| before.and_then(|grant| grant.uid.clone())),
        scopes: granted.tokens.scopes.clone().unwrap_or_else(|| granted.scopes.clone()),
        generation: before.map_or(1, |grant| grant.generation + 1),
        expires_at_ms: lifetime_ms.map(|lifetime_ms| now_ms.saturating_add(lifetime_ms)),
        refresh_at_ms: lifetime_ms
            .map(|lifetime_ms| now_ms.saturating_add(lifetime_ms.saturating_sub(margin_ms(lifetime_ms)))),
        refreshing: None,
        failure: None,
        refreshed_at: before.map(|_| platform.clock.now_seconds()),
    })
}

/// What `$auth` holds of new tokens.
pub(crate) fn put_tokens(credentials: &mut Credentials, tokens: &Tokens) {
    credentials.insert(names::ACCESS_TOKEN.to_owned(), tokens.access_token.clone());
    credentials.extend(tokens.fields.clone());
}

fn read<T: serde::de::DeserializeOwned>(
    platform: &Platform,
    context: Context<'_>,
    sealed: &Sealed,
) -> Result<T, Error> {
    let opened = platform.vault.open(context, sealed)?;
    // Without the cause, which would show a piece of it.
    let malformed = |_| RecordError::Malformed { kind: "credentials", source: serde::de::Error::custom("not JSON") };
    Ok(serde_json::from_slice(opened.expose()).map_err(malformed)?)
}

fn write<T: serde::Serialize>(platform: &Platform, context: Context<'_>, value: &T) -> Result<Sealed, Error> {
    let unwritable = |source| RecordError::Unwritable { kind: "credentials", source };
    let text = Secret::new(serde_json::to_vec(value).map_err(unwritable)?);
    Ok(platform.vault.seal(context, text.expose())?)
}
