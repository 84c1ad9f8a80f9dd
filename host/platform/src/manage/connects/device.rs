//! The device authorization grant (RFC 8628): a code that the user types in on another device.
//!
//! The provider is asked when the caller asks, and not more often than it allows: nothing runs in between.

use std::collections::BTreeMap;

use domain::apps::oauth2::{Client, TokenError, read_device_code, read_tokens, token_request};
use domain::apps::template::render_url;
use domain::apps::{Auth, ClientAuth, Oauth2, Provider};
use store::{Lookup, Tenant};

use super::establish::{Gained, establish};
use super::{ConnectProblem, context, scopes_of, settle};
use crate::providers::{self, find_provider};
use crate::records::{AttemptSecrets, Connect, ConnectOutcome, Device, Kept, RecordError, table};
use crate::tokens::call_token;
use crate::{Error, Platform, Secret};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// RFC 8628, section 3.5.
const SLOW_DOWN_MS: u64 = 5000;

pub(super) async fn begin(
    platform: &Platform,
    tenant: &Tenant,
    connect: Connect,
    provider: &Provider,
    fields: BTreeMap<String, String>,
) -> Result<Connect, Error> {
    let Auth::Oauth2(oauth @ Oauth2 { device_url: Some(address), .. }) = &provider.auth else {
        return Err(no_flow(&connect));
    };
    let client = providers::open_any(platform, tenant, &connect.app).await?;
    let not_connected = |message: String| Error::NotConnected { code: "provider_failed", message };
    let url =
        render_url(address, &|name| fields.get(name).cloned()).map_err(|error| not_connected(error.to_string()))?;
    let scope = scopes_of(&connect, client.scopes.as_ref(), oauth).join(oauth.separator());
    let proof = Client { id: &client.id, secret: client.secret.expose() };
    // RFC 8628, section 3.1: the id is a parameter, also of a client that proves itself in a header.
    let mut grant = match oauth.client_auth {
        ClientAuth::Body => Vec::new(),
        ClientAuth::Basic | ClientAuth::BasicJson => vec![("client_id", client.id.as_str())],
    };
    if !scope.is_empty() {
        grant.push(("scope", &scope));
    }
    let request = token_request(oauth.client_auth, proof, &grant, &BTreeMap::new());
    let posted = call_token(platform, tenant, &url, request).await;
    let posted = posted.map_err(|error| not_connected(format!("the provider could not be reached: {error}")))?;
    let code = read_device_code(posted.status, &posted.excerpt).map_err(|error| not_connected(error.to_string()))?;
    let secrets = AttemptSecrets { verifier: code.device_code, fields, ..AttemptSecrets::default() };
    let unwritable = |source| RecordError::Unwritable { kind: "attempt", source };
    let text = Secret::new(serde_json::to_vec(&secrets).map_err(unwritable)?);
    let interval_ms = code.interval_seconds.clamp(1, 60) * 1000;
    let device = Device {
        user_code: domain::apps::oauth2::shown(&code.user_code),
        verification_uri: domain::apps::oauth2::shown(&code.verification_uri),
        secrets: platform.vault.seal(context(tenant, &connect), text.expose())?,
        interval_ms,
        next_poll_ms: platform.clock.now_ms().saturating_add(interval_ms),
    };
    let expires_at = connect.created_at.saturating_add(code.expires_in_seconds).min(connect.expires_at);
    Ok(Connect { device: Some(device), expires_at, ..connect })
}

fn no_flow(connect: &Connect) -> Error {
    Error::WrongFlow { app: connect.app.clone(), reason: "its provider has no codes for devices" }
}

/// Asks the provider whether the user has answered, when it is time.
pub(super) async fn poll(platform: &Platform, tenant: &Tenant, kept: Kept<Connect>) -> Result<Kept<Connect>, Error> {
    let now_ms = platform.clock.now_ms();
    let Some(device) = kept.record.device.clone().filter(|device| device.next_poll_ms <= now_ms) else {
        return Ok(kept);
    };
    // Written first: of two requests at the same moment one asks.
    let Some(kept) = wait_on(platform, tenant, kept, &device, device.interval_ms).await? else {
        return reread(platform, tenant, &device).await;
    };
    let id = kept.record.id.clone();
    match ask(platform, tenant, &kept.record, &device).await {
        Ok(account_id) => settle(platform, tenant, &kept, ConnectOutcome::Connected { account_id }).await?,
        Err(Polled::Waiting { is_slow_down: true }) => {
            let slower_ms = device.interval_ms.saturating_add(SLOW_DOWN_MS);
            wait_on(platform, tenant, kept, &device, slower_ms).await?;
        }
        Err(Polled::Waiting { .. }) => {}
        Err(Polled::Failed(problem)) => match problem.outcome() {
            Some(outcome) => settle(platform, tenant, &kept, outcome).await?,
            None => {
                return Err(match problem {
                    ConnectProblem::Failed(error) => error,
                    other => Error::NotConnected { code: other.code(), message: other.to_string() },
                });
            }
        },
    }
    let found = table::find::<Connect>(&*platform.store, tenant, Lookup::Id(&id)).await?;
    found.ok_or_else(|| Error::not_found(crate::Noun::Connect, id))
}

enum Polled {
    Waiting { is_slow_down: bool },
    Failed(ConnectProblem),
}

impl From<ConnectProblem> for Polled {
    fn from(problem: ConnectProblem) -> Self {
        Self::Failed(problem)
    }
}

impl From<Error> for Polled {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

async fn reread(platform: &Platform, tenant: &Tenant, device: &Device) -> Result<Kept<Connect>, Error> {
    let kept = table::list_all::<Connect>(&*platform.store, tenant).await?;
    let is_it = |kept: &Kept<Connect>| kept.record.device.as_ref().is_some_and(|one| one.user_code == device.user_code);
    kept.into_iter().find(is_it).ok_or(Error::Changed)
}

async fn wait_on(
    platform: &Platform,
    tenant: &Tenant,
    kept: Kept<Connect>,
    device: &Device,
    interval_ms: u64,
) -> Result<Option<Kept<Connect>>, Error> {
    let next_poll_ms = platform.clock.now_ms().saturating_add(interval_ms);
    let unchanged = table::unchanged(&kept);
    let device = Some(Device { interval_ms, next_poll_ms, ..device.clone() });
    let kept = Kept { record: Connect { device, ..kept.record }, ..kept };
    let batch = platform.batch(tenant).require(unchanged).then(table::put(&kept.record)?);
    match platform.store.commit(batch).await.map_err(Error::from) {
        Ok(_) => Ok(Some(kept.rewritten())),
        Err(Error::Changed) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn ask(
    platform: &Platform,
    tenant: &Tenant,
    connect: &Connect,
    device: &Device,
) -> Result<domain::ids::AccountId, Polled> {
    let provider = find_provider(platform, &connect.app).await?;
    let Auth::Oauth2(oauth) = &provider.auth else {
        return Err(no_flow(connect).into());
    };
    let opened = platform.vault.open(context(tenant, connect), &device.secrets).map_err(Error::from)?;
    let malformed = |source| Error::Record(RecordError::Malformed { kind: "attempt", source });
    let secrets: AttemptSecrets = serde_json::from_slice(opened.expose()).map_err(malformed)?;
    let client = providers::open_any(platform, tenant, &connect.app).await?;
    let unfilled =
        |error: domain::apps::template::TemplateError| ConnectProblem::Provider { message: error.to_string() };
    let url = render_url(&oauth.token_url, &|name| secrets.fields.get(name).cloned()).map_err(unfilled)?;
    let grant = [("grant_type", GRANT), ("device_code", secrets.verifier.as_str())];
    let proof = Client { id: &client.id, secret: client.secret.expose() };
    let request = token_request(oauth.client_auth, proof, &grant, &oauth.token_parameters);
    let posted = call_token(platform, tenant, &url, request).await;
    // A provider that cannot be reached is asked again, until the code expires.
    let Ok(posted) = posted else {
        return Err(Polled::Waiting { is_slow_down: true });
    };
    let tokens = match read_tokens(oauth, posted.status, &posted.excerpt) {
        Ok(tokens) => tokens,
        Err(error) if error.is_pending() => return Err(Polled::Waiting { is_slow_down: error.is_slow_down() }),
        Err(TokenError::Refused { code, description }) if code == "access_denied" => {
            return Err(ConnectProblem::Denied { description }.into());
        }
        Err(error) => return Err(ConnectProblem::Provider { message: error.to_string() }.into()),
    };
    let scopes = scopes_of(connect, client.scopes.as_ref(), oauth);
    let gained = Gained { tokens: Some(tokens), client: Some(&client), scopes, ..Gained::fields(secrets.fields) };
    Ok(establish(platform, tenant, connect, &provider, &gained).await?.id)
}
