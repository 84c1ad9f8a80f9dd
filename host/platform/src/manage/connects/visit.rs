//! The page of a link, and the beginning of a visit to a provider.

use std::collections::BTreeMap;

use domain::apps::oauth1::{self, Signed, Signer};
use domain::apps::oauth2::{Authorization, authorization_url, verifier};
use domain::apps::template::render_url;
use domain::apps::{Auth, Field, Oauth1, Provider};
use domain::ids::{AccountId, UserId};
use store::{DirectoryWrite, Lookup, Tenant};
use url::{Url, form_urlencoded};

use super::establish::{Gained, establish, establish_client};
use super::{ConnectProblem, claim, context, find_by, hash_of, scopes_of, settle};
use crate::providers::{self, OpenClient, find_provider};
use crate::records::{Attempt, AttemptSecrets, Connect, ConnectOutcome, Kept, RecordError, User, names, table};
use crate::tokens::call_token;
use crate::{Error, Platform, Secret};

/// What the page of a link shows.
#[derive(Debug)]
pub struct LinkPage {
    pub app: String,
    /// Whose account on this server it will be.
    pub username: String,
    pub fields: Vec<Field>,
    /// Where the browser goes next; none when the page asks for everything.
    pub provider_host: Option<String>,
    pub scopes: Vec<String>,
    pub is_reconnect: bool,
    pub documentation: Option<String>,
}

/// What follows the page.
#[derive(Debug)]
pub enum Next {
    /// To the provider, with this cookie in the browser.
    Visit {
        url: String,
        app: String,
        browser: Secret<String>,
    },
    Connected {
        user: UserId,
        account: AccountId,
        app: String,
        name: String,
    },
}

pub async fn open_link(platform: &Platform, token: &Secret<String>) -> Result<LinkPage, ConnectProblem> {
    let (user, kept) = pending(platform, token).await?;
    let provider = find_provider(platform, &kept.record.app).await?;
    let user = table::find::<User>(&*platform.store, &names::operator(), Lookup::Id(user.as_str()))
        .await
        .map_err(Error::from)?
        .ok_or(ConnectProblem::Link)?;
    let (host, scopes) = match &provider.auth {
        Auth::Oauth2(oauth) => {
            let client = providers::open_any(platform, &names::tenant(&user.record.id), &kept.record.app).await?;
            (host_of(&oauth.authorization_url), scopes_of(&kept.record, client.scopes.as_ref(), oauth))
        }
        Auth::Oauth1(oauth) => (host_of(&oauth.authorization_url), Vec::new()),
        _ => (None, Vec::new()),
    };
    Ok(LinkPage {
        app: provider.name.clone(),
        username: user.record.username,
        fields: provider.fields.clone(),
        provider_host: host,
        scopes,
        is_reconnect: kept.record.reconnects.is_some(),
        documentation: provider.documentation.clone(),
    })
}

/// For people: with `…` for what is not known yet.
fn host_of(template: &str) -> Option<String> {
    let host = template.split("://").nth(1)?.split('/').next()?;
    let mut shown = String::new();
    let mut rest = host;
    while let Some((before, after)) = rest.split_once("{{") {
        shown.push_str(before);
        shown.push('…');
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    Some(shown + rest)
}

async fn pending(platform: &Platform, token: &Secret<String>) -> Result<(UserId, Kept<Connect>), ConnectProblem> {
    let (user, kept) = find_by(platform, token.expose()).await?.ok_or(ConnectProblem::Link)?;
    let is_link = kept.record.link_hash == hash_of(token.expose());
    let is_over = matches!(kept.record.outcome, ConnectOutcome::Connected { .. });
    if !is_link || is_over { Err(ConnectProblem::Link) } else { Ok((user, kept)) }
}

/// Takes what the user typed in, and sends the browser to the provider; or connects at once, when nothing else is needed.
pub async fn begin(
    platform: &Platform,
    token: &Secret<String>,
    given: &BTreeMap<String, String>,
    browser: Option<Secret<String>>,
) -> Result<Next, ConnectProblem> {
    let (user, kept) = pending(platform, token).await?;
    let tenant = names::tenant(&user);
    let provider = find_provider(platform, &kept.record.app).await?;
    let fields = provider.read_fields(given).map_err(ConnectProblem::Fields)?;
    match &provider.auth {
        Auth::Oauth2(_) | Auth::Oauth1(_) => {
            let client = providers::open_any(platform, &tenant, &kept.record.app).await?;
            let browser = browser.unwrap_or_else(|| Secret::new(hex::encode(platform.entropy.bytes::<32>())));
            let secrets = AttemptSecrets { fields, ..AttemptSecrets::default() };
            visit(platform, &user, kept, (&provider, &client), secrets, browser).await
        }
        Auth::Keys | Auth::Basic | Auth::ClientCredentials(_) => {
            let done = match provider.auth {
                Auth::ClientCredentials(_) => {
                    establish_client(platform, &tenant, &kept.record, &provider, fields).await
                }
                _ => establish(platform, &tenant, &kept.record, &provider, &Gained::fields(fields)).await,
            };
            let account = match done {
                Ok(account) => account,
                Err(problem) => {
                    if let Some(outcome) = problem.outcome() {
                        settle(platform, &tenant, &kept, outcome).await?;
                    }
                    return Err(problem);
                }
            };
            settle(platform, &tenant, &kept, ConnectOutcome::Connected { account_id: account.id.clone() }).await?;
            Ok(Next::Connected { user, account: account.id, app: provider.name.clone(), name: account.name })
        }
        Auth::None => Err(ConnectProblem::Link),
    }
}

async fn visit(
    platform: &Platform,
    user: &UserId,
    kept: Kept<Connect>,
    (provider, client): (&Provider, &OpenClient),
    mut secrets: AttemptSecrets,
    browser: Secret<String>,
) -> Result<Next, ConnectProblem> {
    let tenant = names::tenant(user);
    let state = format!("wst_{}", hex::encode(platform.entropy.bytes::<32>()));
    secrets.verifier = verifier(platform.entropy.bytes());
    let fields = secrets.fields.clone();
    let unfilled = |error| ConnectProblem::Provider { message: format!("{error}") };
    let value_of = |name: &str| fields.get(name).cloned();
    let url = match &provider.auth {
        Auth::Oauth2(oauth) => {
            let address = render_url(&oauth.authorization_url, &value_of).map_err(unfilled)?;
            let scopes = scopes_of(&kept.record, client.scopes.as_ref(), oauth);
            let redirect_uri = platform.redirect_uri();
            let asked = Authorization {
                client_id: &client.id,
                redirect_uri: &redirect_uri,
                state: &state,
                verifier: &secrets.verifier,
                scopes: &scopes,
            };
            authorization_url(oauth, address, &asked)
        }
        Auth::Oauth1(oauth) => {
            let mut address = render_url(&oauth.authorization_url, &value_of).map_err(unfilled)?;
            let (token, secret) = request_token(platform, &tenant, oauth, client, &state).await?;
            address.query_pairs_mut().append_pair("oauth_token", &token);
            address.query_pairs_mut().extend_pairs(&oauth.parameters);
            (secrets.request_token, secrets.request_secret) = (token, secret);
            address
        }
        _ => return Err(ConnectProblem::Link),
    };
    let attempt = attempt(platform, &tenant, &kept.record, (&state, &browser), &secrets)?;
    claim(platform, user, &kept.record.id, &attempt.state_hash).await?;
    let before = kept.record.attempt.as_ref().map(|attempt| attempt.state_hash.clone());
    let begun = Connect { attempt: Some(attempt), outcome: ConnectOutcome::Pending, ..kept.record.clone() };
    let batch = platform.batch(&tenant).require(table::unchanged(&kept)).then(table::put(&begun).map_err(Error::from)?);
    platform.store.commit(batch).await.map_err(Error::from)?;
    if let Some(hash) = before {
        // The answer to the visit before is not taken any more.
        let gone = DirectoryWrite::Remove { key: names::connect(&hash) };
        platform.store.write_directory(gone).await.map_err(Error::from)?;
    }
    Ok(Next::Visit { url: url.into(), app: provider.name.clone(), browser })
}

/// Temporary credentials of OAuth 1.0a (RFC 5849, section 2.1).
async fn request_token(
    platform: &Platform,
    tenant: &Tenant,
    oauth: &Oauth1,
    client: &OpenClient,
    state: &str,
) -> Result<(String, String), ConnectProblem> {
    let failed = |message: String| ConnectProblem::Provider { message };
    let url = render_url(&oauth.request_url, &|_| None).map_err(|error| failed(error.to_string()))?;
    let callback = format!("{}?state={state}", platform.redirect_uri());
    let answer = post_signed(platform, tenant, client, ("", ""), &url, &[("oauth_callback", &callback)]).await?;
    // Without it the provider knows the old protocol only, in which a visit can be taken over.
    if answer.get("oauth_callback_confirmed").map(String::as_str) != Some("true") {
        return Err(failed("it did not confirm the callback".to_owned()));
    }
    let text = |name: &str| answer.get(name).cloned().ok_or_else(|| failed(format!("its answer has no {name}")));
    Ok((text("oauth_token")?, text("oauth_token_secret")?))
}

/// A signed request of OAuth 1.0a whose answer is a form.
pub(super) async fn post_signed(
    platform: &Platform,
    tenant: &Tenant,
    client: &OpenClient,
    (token, token_secret): (&str, &str),
    url: &Url,
    more: &[(&str, &str)],
) -> Result<BTreeMap<String, String>, ConnectProblem> {
    let signer = Signer { consumer_key: &client.id, consumer_secret: client.secret.expose(), token, token_secret };
    let nonce = hex::encode(platform.entropy.bytes::<16>());
    let timestamp_seconds = platform.clock.now_seconds();
    let signed = Signed { method: "POST", url, form: &[], more, timestamp_seconds, nonce: &nonce };
    let headers = vec![("authorization".to_owned(), oauth1::authorization(signer, &signed))];
    let request = domain::apps::oauth2::TokenRequest { headers, body: String::new() };
    let posted = call_token(platform, tenant, url, request).await;
    let posted = posted.map_err(|error| ConnectProblem::Provider { message: error.to_string() })?;
    if !(200..300).contains(&posted.status) {
        return Err(ConnectProblem::Provider { message: format!("it answered {}", posted.status) });
    }
    Ok(form_urlencoded::parse(&posted.excerpt).into_owned().collect())
}

/// What is kept of a visit: hashes, and sealed secrets.
fn attempt(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    (state, browser): (&str, &Secret<String>),
    secrets: &AttemptSecrets,
) -> Result<Attempt, Error> {
    let unwritable = |source| RecordError::Unwritable { kind: "attempt", source };
    let text = Secret::new(serde_json::to_vec(secrets).map_err(unwritable)?);
    Ok(Attempt {
        state_hash: hash_of(state),
        browser_hash: hash_of(browser.expose()),
        secrets: platform.vault.seal(context(tenant, connect), text.expose())?,
    })
}
