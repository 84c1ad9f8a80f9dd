//! Makes an account of what a user typed in or a provider granted, or gives an account new credentials.

use std::collections::BTreeMap;

use domain::apps::oauth2::{Client, Tokens, missing_scopes, read_tokens, token_request};
use domain::apps::template::render_url;
use domain::apps::{Auth, Oauth2, Provider, names};
use domain::ids::AccountId;
use store::Tenant;

use super::{ConnectProblem, account_of};
use crate::paging::count;
use crate::providers::OpenClient;
use crate::records::{Account, ClientOwner, Connect, GrantSecrets, Kept, table};
use crate::tokens::{
    self, Credentials, Granted, call_profile, call_token, client_of_fields, grant_of, open_credentials, plain_answers,
    put_tokens, read_profile, seal_credentials,
};
use crate::{Error, Noun, Platform};

/// What an account is made of.
pub(super) struct Gained<'a> {
    pub(super) fields: BTreeMap<String, String>,
    pub(super) tokens: Option<Tokens>,
    /// Of OAuth 1.0a.
    pub(super) token_secret: Option<String>,
    /// What the token endpoint says of whose it is.
    pub(super) uid: Option<String>,
    pub(super) client: Option<&'a OpenClient>,
    /// What was asked for.
    pub(super) scopes: Vec<String>,
}

// === impl Gained ===

impl Gained<'_> {
    pub(super) fn fields(fields: BTreeMap<String, String>) -> Self {
        Self { fields, tokens: None, token_secret: None, uid: None, client: None, scopes: Vec::new() }
    }
}

/// An account of these credentials, once the service has said whose they are.
pub(super) async fn establish(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    provider: &Provider,
    gained: &Gained<'_>,
) -> Result<Account, ConnectProblem> {
    check_scopes(provider, gained)?;
    let mut credentials: Credentials = gained.fields.clone();
    if let Some(tokens) = &gained.tokens {
        put_tokens(&mut credentials, tokens);
    }
    if let Some(client) = gained.client.filter(|client| client.owner != ClientOwner::Account) {
        credentials.insert(names::CLIENT_ID.to_owned(), client.id.clone());
    }
    let secrets = GrantSecrets { refresh_token: None, token_secret: gained.token_secret.clone() };
    let (uid, label) = identify(platform, tenant, provider, &credentials, &secrets, gained.client).await?;
    let uid = uid.or_else(|| gained.uid.clone());
    if let Some(uid) = &uid {
        credentials.insert(names::UID.to_owned(), uid.clone());
    }
    store(platform, tenant, connect, provider, Known { credentials, uid, label }, gained).await
}

/// For an app whose client is the account's own fields: a first token shows that they are good.
pub(super) async fn establish_client(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    provider: &Provider,
    fields: BTreeMap<String, String>,
) -> Result<Account, ConnectProblem> {
    let (Auth::ClientCredentials(oauth), Some(client)) = (&provider.auth, client_of_fields(provider, &fields)) else {
        return Err(ConnectProblem::Link);
    };
    let failed = |message: String| ConnectProblem::Provider { message };
    let url =
        render_url(&oauth.token_url, &|name| fields.get(name).cloned()).map_err(|error| failed(error.to_string()))?;
    let scope = oauth.scopes.join(" ");
    let mut grant = vec![("grant_type", "client_credentials")];
    if !scope.is_empty() {
        grant.push(("scope", &scope));
    }
    let proof = Client { id: &client.id, secret: client.secret.expose() };
    let request = token_request(oauth.client_auth, proof, &grant, &oauth.token_parameters);
    let tokens = exchange(platform, tenant, &url, request, &plain_answers(&oauth.token_url)).await?;
    let gained = Gained { tokens: Some(tokens), client: Some(&client), ..Gained::fields(fields) };
    establish(platform, tenant, connect, provider, &gained).await
}

/// A request to a token endpoint, and its tokens.
pub(super) async fn exchange(
    platform: &Platform,
    tenant: &Tenant,
    url: &url::Url,
    request: domain::apps::oauth2::TokenRequest,
    oauth: &Oauth2,
) -> Result<Tokens, ConnectProblem> {
    let posted = call_token(platform, tenant, url, request).await;
    let posted = posted.map_err(|error| ConnectProblem::Provider { message: error.to_string() })?;
    read_tokens(oauth, posted.status, &posted.excerpt)
        .map_err(|error| ConnectProblem::Provider { message: error.to_string() })
}

fn check_scopes(provider: &Provider, gained: &Gained<'_>) -> Result<(), ConnectProblem> {
    let Auth::Oauth2(oauth) = &provider.auth else {
        return Ok(());
    };
    let granted = gained.tokens.as_ref().and_then(|tokens| tokens.scopes.as_ref()).filter(|_| oauth.checks_scopes);
    let missing = granted.map(|granted| missing_scopes(&gained.scopes, granted)).unwrap_or_default();
    if missing.is_empty() { Ok(()) } else { Err(ConnectProblem::MissingScopes { missing }) }
}

/// Whose credentials they are. Credentials that the service refuses make no account.
async fn identify(
    platform: &Platform,
    tenant: &Tenant,
    provider: &Provider,
    credentials: &Credentials,
    secrets: &GrantSecrets,
    client: Option<&OpenClient>,
) -> Result<(Option<String>, Option<String>), ConnectProblem> {
    match call_profile(platform, tenant, provider, credentials, secrets, client).await {
        None => Ok((None, None)),
        Some(Ok(called)) if called.status == 401 => {
            let message = format!("{} refuses the credentials", provider.name);
            Err(ConnectProblem::Provider { message })
        }
        Some(Ok(called)) if called.status < 300 => Ok(read_profile(provider, &called.body)),
        // A profile that may not be read, or not now, is no reason to refuse an account.
        Some(Ok(_) | Err(_)) => Ok((None, None)),
    }
}

/// What is known of an account before it is stored.
struct Known {
    credentials: Credentials,
    uid: Option<String>,
    label: Option<String>,
}

async fn store(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    provider: &Provider,
    known: Known,
    gained: &Gained<'_>,
) -> Result<Account, ConnectProblem> {
    let before = match &connect.reconnects {
        Some(id) => Some(account_of(platform, tenant, id).await?.ok_or(Error::not_found(Noun::Account, id))?),
        None => {
            let limit = platform.config.connected_accounts_per_account;
            if count::<Account>(tenant, platform).await? >= limit {
                return Err(Error::TooMany { noun: Noun::Account, limit }.into());
            }
            None
        }
    };
    check_same(platform, tenant, before.as_ref(), &known)?;
    let id =
        before.as_ref().map_or_else(|| AccountId::from_random(platform.entropy.bytes()), |kept| kept.record.id.clone());
    let now = platform.clock.now_seconds();
    let named = connect.name.clone().or_else(|| before.as_ref().map(|kept| kept.record.name.clone()));
    let account = Account {
        app: provider.slug.clone(),
        name: named.or(known.label).unwrap_or_else(|| provider.name.clone()),
        credentials: seal_credentials(platform, tenant, &id, &known.credentials)?,
        grant: match &gained.tokens {
            Some(tokens) => {
                let granted = Granted {
                    tokens: tokens.clone(),
                    client: gained.client.map_or(ClientOwner::Account, |client| client.owner),
                    token_secret: gained.token_secret.clone(),
                    uid: known.uid,
                    scopes: gained.scopes.clone(),
                };
                let generation =
                    before.as_ref().and_then(|kept| kept.record.grant.as_ref()).map(|grant| grant.generation);
                let mut grant = grant_of(platform, tenant, &id, &granted, None)?;
                // Counted on, so that a refresh that was under way does not take its answer for this grant's.
                grant.generation = generation.map_or(1, |generation| generation + 1);
                Some(grant)
            }
            None => None,
        },
        dead: None,
        created_at: before.as_ref().map_or(now, |kept| kept.record.created_at),
        updated_at: now,
        id,
    };
    let mut batch = platform.batch(tenant);
    if let Some(kept) = &before {
        batch = batch.require(table::unchanged(kept));
    }
    platform.store.commit(batch.then(table::put(&account).map_err(Error::from)?)).await.map_err(Error::from)?;
    Ok(account)
}

/// An account that is connected again stays the same account: sources rely on it.
fn check_same(
    platform: &Platform,
    tenant: &Tenant,
    before: Option<&Kept<Account>>,
    known: &Known,
) -> Result<(), ConnectProblem> {
    let Some(kept) = before else {
        return Ok(());
    };
    let expected = match &kept.record.grant {
        Some(grant) => grant.uid.clone(),
        None => open_credentials(platform, tenant, &kept.record)?.get(names::UID).cloned(),
    };
    match (expected, &known.uid) {
        (Some(expected), Some(found)) if expected != *found => {
            let found = known.label.clone().unwrap_or_else(|| found.clone());
            Err(ConnectProblem::WrongAccount { found })
        }
        _ => Ok(()),
    }
}

/// Gives back what was granted for an account that was not made.
pub(super) async fn give_back(platform: &Platform, tenant: &Tenant, provider: &Provider, gained: &Gained<'_>) {
    let (Some(tokens), Some(client)) = (&gained.tokens, gained.client) else {
        return;
    };
    let mut credentials = gained.fields.clone();
    put_tokens(&mut credentials, tokens);
    let secrets = GrantSecrets { refresh_token: tokens.refresh_token.clone(), token_secret: None };
    tokens::revoke(platform, tenant, provider, &credentials, &secrets, client).await;
}
