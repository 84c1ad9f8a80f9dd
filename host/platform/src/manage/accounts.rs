//! Connected accounts: a user's credentials for an app.

use domain::ids::AccountId;
use domain::paging::PageQuery;
use serde::Serialize;
use serde_json::{Map, Value};
use store::Lookup;

use super::apps;
use crate::manage::workflows;
use crate::paging::{PageOf, count, page};
use crate::records::{Account, RecordError, Source, table};
use crate::vault::Context;
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret, UsedBy};

/// Tokens and keys, all together, as JSON.
const CREDENTIALS_BYTES_MAXIMUM: usize = 64 << 10;

/// An account as it is shown: never with its credentials.
#[derive(Debug, Serialize)]
pub struct AccountView {
    pub id: AccountId,
    pub app: String,
    pub name: String,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Debug)]
pub struct NewAccount {
    pub app: String,
    /// The app's name when absent.
    pub name: Option<String>,
    pub credentials: Secret<Map<String, Value>>,
}

pub async fn create(caller: &Caller, platform: &Platform, new: NewAccount) -> Result<Account, Error> {
    let limit = platform.config.connected_accounts_per_account;
    if count::<Account>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::Account, limit });
    }
    let app = apps::find_app(platform, &new.app).await?;
    if new.credentials.expose().values().any(|value| !value.is_string()) {
        return Err(Error::expected("credentials", "an object of strings"));
    }
    let unwritable = |source| RecordError::Unwritable { kind: "credentials", source };
    let text = Secret::new(serde_json::to_vec(new.credentials.expose()).map_err(unwritable)?);
    let size_bytes = text.expose().len();
    if size_bytes > CREDENTIALS_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: CREDENTIALS_BYTES_MAXIMUM, size_bytes };
        return Err(Error::parameter("credentials", source));
    }
    let id = AccountId::from_random(platform.entropy.bytes());
    let context = Context { tenant: caller.tenant.as_str(), record: id.as_str(), field: "credentials" };
    let credentials = platform.vault.seal(context, text.expose())?;
    let now = platform.clock.now_seconds();
    let name = new.name.unwrap_or(app.name);
    let account = Account { id, app: app.name_slug, name, credentials, created_at: now, updated_at: now };
    platform.store.commit(platform.batch(&caller.tenant).then(table::put(&account)?)).await?;
    Ok(account)
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Account>, Error> {
    page(&caller.tenant, platform, query).await
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Account, Error> {
    let found = table::find::<Account>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::Account, id))?.record)
}

/// Refused while a source or a workflow uses it, unless it is forced. What uses it then fails, and says why: it would
/// otherwise go on and send requests without credentials.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str, is_forced: bool) -> Result<(), Error> {
    let account = find(caller, platform, id).await?;
    let used_by = if is_forced { Vec::new() } else { users_of(caller, platform, &account.id).await? };
    if !used_by.is_empty() {
        return Err(Error::InUse { noun: Noun::Account, id: account.id.to_string(), used_by });
    }
    platform.store.commit(platform.batch(&caller.tenant).then(table::delete(&account))).await?;
    Ok(())
}

async fn users_of(caller: &Caller, platform: &Platform, id: &AccountId) -> Result<Vec<UsedBy>, Error> {
    let sources = table::list_all::<Source>(&*platform.store, &caller.tenant).await?;
    let sources = sources.iter().map(|kept| &kept.record).filter(|source| source.revision.uses_account(id));
    let versions = workflows::current_versions(&caller.tenant, platform).await?;
    let steps = versions.iter().flat_map(|version| version.steps.iter().map(move |step| (version, step)));
    let steps = steps.filter(|(_, step)| step.uses_account(id)).map(|(workflow, step)| workflow.as_user(step));
    Ok(sources.map(Source::as_user).chain(steps).collect())
}

// === impl AccountView ===

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        let Account { id, app, name, created_at, updated_at, .. } = account;
        Self { id, app, name, created_at, updated_at }
    }
}
