//! Connected accounts: a user's credentials for an app.

use domain::ids::AccountId;
use domain::paging::PageQuery;
use serde::Serialize;
use serde_json::{Map, Value};
use store::{Lookup, Tenant};

use crate::manage::workflows;
use crate::paging::{PageOf, count, page};
use crate::providers::find_provider;
use crate::records::{Account, GrantSecrets, RecordError, Source, table};
use crate::tokens::{self, Fresh, Wanted, sources_of};
use crate::vault::Context;
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret, UsedBy};

/// What people call an account.
const NAME_BYTES_MAXIMUM: usize = 256;
/// Tokens and keys, all together, as JSON.
const CREDENTIALS_BYTES_MAXIMUM: usize = 64 << 10;

/// An account as it is shown: never with its credentials.
#[derive(Debug, Serialize)]
pub struct AccountView {
    pub id: AccountId,
    pub app: String,
    pub name: String,
    /// Whether sources can use it.
    pub state: &'static str,
    /// Why it cannot be used, or could not be refreshed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What the service calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// When its token expires, in epoch seconds; it is refreshed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refreshed_at: Option<u64>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What came of trying an account's credentials.
#[derive(Debug, Serialize)]
pub struct AccountTest {
    pub ok: bool,
    pub message: String,
    /// What the service answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A source, or a step of a workflow, that uses an account.
#[derive(Debug, Serialize)]
pub struct AccountUse {
    pub id: String,
    pub name: String,
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
    let app = find_provider(platform, &new.app).await?;
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
    let name = new.name.unwrap_or_else(|| app.name.clone());
    let account =
        Account { id, app: new.app, name, credentials, grant: None, dead: None, created_at: now, updated_at: now };
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

pub async fn rename(caller: &Caller, platform: &Platform, id: &str, name: String) -> Result<Account, Error> {
    if name.trim().is_empty() {
        return Err(Error::parameter("name", ParameterError::Empty));
    }
    if name.len() > NAME_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: NAME_BYTES_MAXIMUM, size_bytes: name.len() };
        return Err(Error::parameter("name", source));
    }
    let found = table::find::<Account>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let kept = found.ok_or_else(|| Error::not_found(Noun::Account, id))?;
    let unchanged = table::unchanged(&kept);
    let renamed = Account { name, updated_at: platform.clock.now_seconds(), ..kept.record };
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&renamed)?)).await?;
    Ok(renamed)
}

/// Tries the credentials at the service, with a refresh first if they need one.
pub async fn test(caller: &Caller, platform: &Platform, id: &str) -> Result<AccountTest, Error> {
    let account = find(caller, platform, id).await?;
    let tenant = &caller.tenant;
    let failed = |message: String| Ok(AccountTest { ok: false, message, status: None });
    let account = match tokens::fresh(platform, tenant, account, Wanted::Usable).await? {
        Fresh::Ready(account) => account,
        Fresh::Dead(death) => return failed(format!("{}; connect it again", death.reason)),
        Fresh::Unavailable(reason) => return failed(reason),
        Fresh::Gone => return Err(Error::not_found(Noun::Account, id)),
    };
    let provider = find_provider(platform, &account.app).await?;
    let credentials = tokens::open_credentials(platform, tenant, &account)?;
    let client = platform.client_of(tenant, &account, &provider, &credentials).await?;
    let secrets = match &account.grant {
        Some(grant) => tokens::open_grant(platform, tenant, &account.id, grant)?,
        None => GrantSecrets::default(),
    };
    match tokens::call_profile(platform, tenant, &provider, &credentials, &secrets, client.as_ref()).await {
        None => failed(format!("it is not known how credentials of {} are tested", provider.name)),
        Some(Err(error)) => failed(format!("{} could not be reached: {error}", provider.name)),
        Some(Ok(called)) => {
            let ok = called.status < 300;
            let verb = if ok { "accepts" } else { "refuses" };
            let message = format!("{} {verb} the credentials", provider.name);
            Ok(AccountTest { ok, message, status: Some(called.status) })
        }
    }
}

/// What uses the account, and would fail without it.
pub async fn uses(caller: &Caller, platform: &Platform, id: &str) -> Result<Vec<AccountUse>, Error> {
    let account = find(caller, platform, id).await?;
    let users = users_of(caller, platform, &account.id).await?;
    Ok(users.into_iter().map(|UsedBy { id, name }| AccountUse { id, name }).collect())
}

/// Refused while a source or a workflow uses it, unless it is forced. What uses it then fails, and says why: it would
/// otherwise go on and send requests without credentials. The provider is told, so that the grant ends there as well.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str, is_forced: bool) -> Result<(), Error> {
    let account = find(caller, platform, id).await?;
    let used_by = if is_forced { Vec::new() } else { users_of(caller, platform, &account.id).await? };
    if !used_by.is_empty() {
        return Err(Error::InUse { noun: Noun::Account, id: account.id.to_string(), used_by });
    }
    platform.store.commit(platform.batch(&caller.tenant).then(table::delete(&account))).await?;
    revoke(&caller.tenant, platform, &account).await;
    Ok(())
}

/// Best effort: the account is gone here whatever the provider says.
async fn revoke(tenant: &Tenant, platform: &Platform, account: &Account) {
    let Some(grant) = account.grant.as_ref().filter(|_| account.dead.is_none()) else {
        return;
    };
    let revoking = async {
        let provider = find_provider(platform, &account.app).await?;
        let credentials = tokens::open_credentials(platform, tenant, account)?;
        let secrets = tokens::open_grant(platform, tenant, &account.id, grant)?;
        if let Some(client) = platform.client_of(tenant, account, &provider, &credentials).await? {
            tokens::revoke(platform, tenant, &provider, &credentials, &secrets, &client).await;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = revoking.await {
        tracing::info!(account.id = %account.id, %error, "a grant could not be revoked");
    }
}

async fn users_of(caller: &Caller, platform: &Platform, id: &AccountId) -> Result<Vec<UsedBy>, Error> {
    let sources = sources_of(&caller.tenant, platform, id).await?;
    let versions = workflows::current_versions(&caller.tenant, platform).await?;
    let steps = versions.iter().flat_map(|version| version.steps.iter().map(move |step| (version, step)));
    let steps = steps.filter(|(_, step)| step.uses_account(id)).map(|(workflow, step)| workflow.as_user(step));
    Ok(sources.iter().map(Source::as_user).chain(steps).collect())
}

// === impl AccountView ===

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        let Account { id, app, name, grant, dead, created_at, updated_at, .. } = account;
        let failure = grant.as_ref().and_then(|grant| grant.failure.as_ref()).map(|failure| failure.message.clone());
        let state = match (&dead, &failure) {
            (Some(_), _) => "disconnected",
            (None, Some(_)) => "failing",
            (None, None) => "connected",
        };
        Self {
            id,
            app,
            name,
            state,
            problem: dead.map(|death| death.reason).or(failure),
            uid: grant.as_ref().and_then(|grant| grant.uid.clone()),
            scopes: grant.as_ref().map(|grant| grant.scopes.clone()).unwrap_or_default(),
            expires_at: grant.as_ref().and_then(|grant| grant.expires_at_ms).map(|at_ms| at_ms / 1000),
            refreshed_at: grant.and_then(|grant| grant.refreshed_at),
            created_at,
            updated_at,
        }
    }
}
