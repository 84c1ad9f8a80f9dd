//! The answer of a provider: `/oauth/callback`.

use domain::apps::oauth2::{Client, Tokens, shown, token_request};
use domain::apps::template::render_url;
use domain::apps::{Auth, Oauth1, Oauth2};
use domain::ids::{AccountId, UserId};
use store::{DirectoryWrite, Tenant};
use subtle::ConstantTimeEq;

use super::establish::{Gained, establish, exchange, give_back};
use super::visit::post_signed;
use super::{ConnectProblem, context, find_by, hash_of, scopes_of, settle};
use crate::providers::{self, OpenClient, find_provider};
use crate::records::{Account, AttemptSecrets, Connect, ConnectOutcome, Kept, RecordError, names, table};
use crate::{Error, Platform, Secret};

/// The parameters of the callback, as they came.
#[derive(Debug, Default)]
pub struct Callback {
    pub state: Option<Secret<String>>,
    pub code: Option<Secret<String>>,
    pub error: Option<String>,
    pub error_description: Option<String>,
    pub issuer: Option<String>,
    /// Of OAuth 1.0a.
    pub oauth_token: Option<Secret<String>>,
    pub oauth_verifier: Option<Secret<String>>,
    /// Of OAuth 1.0a: the token of a user who said no.
    pub denied: Option<String>,
}

#[derive(Debug)]
pub struct Finished {
    pub user: UserId,
    pub account: AccountId,
    pub app: String,
    pub name: String,
    pub is_reconnect: bool,
}

/// Ends a visit. The state is used up before anything else is done with it, whatever comes of it.
pub async fn finish(
    platform: &Platform,
    callback: &Callback,
    browser: Option<&Secret<String>>,
) -> Result<Finished, ConnectProblem> {
    let state = callback.state.as_ref().ok_or(ConnectProblem::State)?;
    let (user, kept) = find_by(platform, state.expose()).await?.ok_or(ConnectProblem::State)?;
    let tenant = names::tenant(&user);
    let attempt = kept.record.attempt.clone().ok_or(ConnectProblem::State)?;
    if !is_same(&attempt.state_hash, &hash_of(state.expose())) {
        return Err(ConnectProblem::State);
    }
    // Another browser uses nothing up: it would end a visit that it only heard of.
    if !browser.is_some_and(|browser| is_same(&attempt.browser_hash, &hash_of(browser.expose()))) {
        return Err(ConnectProblem::Browser);
    }
    let opened = platform.vault.open(context(&tenant, &kept.record), &attempt.secrets).map_err(Error::from)?;
    let malformed = |source| Error::Record(RecordError::Malformed { kind: "attempt", source });
    let secrets: AttemptSecrets = serde_json::from_slice(opened.expose()).map_err(malformed)?;
    let kept = use_up(platform, &tenant, kept, &attempt.state_hash).await?;
    let is_reconnect = kept.record.reconnects.is_some();
    match redeem(platform, &tenant, &kept.record, callback, secrets).await {
        Ok((account, app)) => {
            settle(platform, &tenant, &kept, ConnectOutcome::Connected { account_id: account.id.clone() }).await?;
            Ok(Finished { user, account: account.id, app, name: account.name, is_reconnect })
        }
        Err(problem) => {
            if let Some(outcome) = problem.outcome() {
                settle(platform, &tenant, &kept, outcome).await?;
            }
            Err(problem)
        }
    }
}

/// The record without its attempt: of two requests with one state, one gets this far.
async fn use_up(
    platform: &Platform,
    tenant: &Tenant,
    kept: Kept<Connect>,
    state_hash: &str,
) -> Result<Kept<Connect>, ConnectProblem> {
    let unchanged = table::unchanged(&kept);
    let used = Kept { record: Connect { attempt: None, ..kept.record }, ..kept };
    let batch = platform.batch(tenant).require(unchanged).then(table::put(&used.record).map_err(Error::from)?);
    match platform.store.commit(batch).await.map_err(Error::from) {
        Ok(_) => {}
        Err(Error::Changed) => return Err(ConnectProblem::State),
        Err(error) => return Err(error.into()),
    }
    let gone = DirectoryWrite::Remove { key: names::connect(state_hash) };
    platform.store.write_directory(gone).await.map_err(Error::from)?;
    Ok(used.rewritten())
}

async fn redeem(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    callback: &Callback,
    secrets: AttemptSecrets,
) -> Result<(Account, String), ConnectProblem> {
    let provider = find_provider(platform, &connect.app).await?;
    if let Auth::Oauth2(oauth) = &provider.auth {
        check_issuer(oauth, callback)?;
    }
    if callback.error.is_some() || callback.denied.is_some() {
        let description = callback.error_description.as_deref().or(callback.error.as_deref()).unwrap_or_default();
        return Err(ConnectProblem::Denied { description: shown(description) });
    }
    let client = providers::open_any(platform, tenant, &connect.app).await?;
    let mut gained = match &provider.auth {
        Auth::Oauth2(oauth) => redeem_code(platform, tenant, connect, oauth, &client, (callback, &secrets)).await?,
        Auth::Oauth1(oauth) => redeem_verifier(platform, tenant, oauth, &client, callback, &secrets).await?,
        _ => return Err(ConnectProblem::State),
    };
    gained.fields = secrets.fields;
    match establish(platform, tenant, connect, &provider, &gained).await {
        Ok(account) => Ok((account, provider.name.clone())),
        Err(problem) => {
            give_back(platform, tenant, &provider, &gained).await;
            Err(problem)
        }
    }
}

/// RFC 9207: an answer of another server than the one that was asked is not taken, whatever it holds.
fn check_issuer(oauth: &Oauth2, callback: &Callback) -> Result<(), ConnectProblem> {
    match (&oauth.issuer, &callback.issuer) {
        (Some(expected), found) if found.as_ref() != Some(expected) => Err(ConnectProblem::Issuer),
        _ => Ok(()),
    }
}

async fn redeem_code<'a>(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    oauth: &Oauth2,
    client: &'a OpenClient,
    (callback, secrets): (&Callback, &AttemptSecrets),
) -> Result<Gained<'a>, ConnectProblem> {
    let code = callback.code.as_ref().ok_or(ConnectProblem::State)?;
    let failed = |error: domain::apps::template::TemplateError| ConnectProblem::Provider { message: error.to_string() };
    let url = render_url(&oauth.token_url, &|name| secrets.fields.get(name).cloned()).map_err(failed)?;
    let redirect_uri = platform.redirect_uri();
    let grant = [
        ("grant_type", "authorization_code"),
        ("code", code.expose().as_str()),
        ("redirect_uri", redirect_uri.as_str()),
        ("code_verifier", secrets.verifier.as_str()),
    ];
    let proof = Client { id: &client.id, secret: client.secret.expose() };
    let request = token_request(oauth.client_auth, proof, &grant, &oauth.token_parameters);
    let tokens = exchange(platform, tenant, &url, request, oauth).await?;
    let scopes = scopes_of(connect, client.scopes.as_ref(), oauth);
    Ok(Gained {
        tokens: Some(tokens),
        client: Some(client),
        scopes,
        ..Gained::fields(std::collections::BTreeMap::new())
    })
}

async fn redeem_verifier<'a>(
    platform: &Platform,
    tenant: &Tenant,
    oauth: &Oauth1,
    client: &'a OpenClient,
    callback: &Callback,
    secrets: &AttemptSecrets,
) -> Result<Gained<'a>, ConnectProblem> {
    let (Some(token), Some(verifier)) = (&callback.oauth_token, &callback.oauth_verifier) else {
        return Err(ConnectProblem::State);
    };
    if !is_same(token.expose(), &secrets.request_token) {
        return Err(ConnectProblem::State);
    }
    let failed = |message: String| ConnectProblem::Provider { message };
    let url = render_url(&oauth.token_url, &|_| None).map_err(|error| failed(error.to_string()))?;
    let proof = (secrets.request_token.as_str(), secrets.request_secret.as_str());
    let more = [("oauth_verifier", verifier.expose().as_str())];
    let mut answer = post_signed(platform, tenant, client, proof, &url, &more).await?;
    let mut take = |name: &str| answer.remove(name).ok_or_else(|| failed(format!("its answer has no {name}")));
    let (access_token, token_secret) = (take("oauth_token")?, take("oauth_token_secret")?);
    let uid = oauth.uid.as_ref().and_then(|name| answer.remove(name));
    let tokens = Tokens {
        access_token,
        refresh_token: None,
        expires_in_seconds: None,
        scopes: None,
        fields: std::collections::BTreeMap::new(),
    };
    let gained = Gained::fields(std::collections::BTreeMap::new());
    Ok(Gained { tokens: Some(tokens), token_secret: Some(token_secret), uid, client: Some(client), ..gained })
}

fn is_same(left: &str, right: &str) -> bool {
    bool::from(left.as_bytes().ct_eq(right.as_bytes()))
}
