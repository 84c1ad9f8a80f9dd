//! Requests to providers: tokens, profiles, revocation. Every one is bounded in time and size, and leaves through the egress
//! client with the tenant's share.

use std::collections::BTreeMap;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use domain::apps::oauth1::{self, Signed, Signer};
use domain::apps::oauth2::{Client, TokenRequest, shown};
use domain::apps::template::{render, render_url};
use domain::apps::{Auth, ClientAuth, Encoding, Placement, Provider, RevocationStyle, names};
use serde_json::Value;
use store::Tenant;
use url::Url;

use super::Credentials;
use crate::ports::{OutboundError, Posted, Posting};
use crate::providers::OpenClient;
use crate::records::GrantSecrets;
use crate::{Platform, Secret};

/// Shorter than the lease of a refresh.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);
/// Tokens may be JSON web tokens of some kilobytes; a profile may have a list of workspaces.
const ANSWER_BYTES: usize = 1 << 20;

/// What a provider answered to a request with credentials.
pub(crate) struct Called {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// A request to a token endpoint. The answer is not looked at here.
pub(crate) async fn call_token(
    platform: &Platform,
    tenant: &Tenant,
    url: &Url,
    request: TokenRequest,
) -> Result<Posted, OutboundError> {
    let posting = Posting {
        method: "POST".to_owned(),
        url: url.to_string(),
        headers: request.headers,
        body: request.body.into(),
        timeout: TIMEOUT,
        excerpt_bytes: ANSWER_BYTES,
    };
    platform.outbound.call(tenant, posting).await
}

/// Asks the service whose credentials these are; also tells whether they are good.
#[boxed]
pub(crate) async fn call_profile(
    platform: &Platform,
    tenant: &Tenant,
    provider: &Provider,
    credentials: &Credentials,
    secrets: &GrantSecrets,
    client: Option<&OpenClient>,
) -> Option<Result<Called, OutboundError>> {
    let request = provider.test_request()?;
    let value_of = |name: &str| credentials.get(name).cloned();
    let refused = |reason: &str| OutboundError::Refused { reason: reason.to_owned() };
    let Ok(mut url) = render_url(&request.url, &value_of) else {
        return Some(Err(refused("the address of the profile cannot be filled in")));
    };
    let method = request.method.clone().unwrap_or_else(|| "GET".to_owned());
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    headers.extend(request.headers);
    // Many services refuse requests that do not say who asks.
    headers.push(("user-agent".to_owned(), "wellspring".to_owned()));
    match (&provider.auth, client) {
        (Auth::Oauth1(_), Some(client)) => {
            headers
                .push(("authorization".to_owned(), sign(platform, credentials, secrets, client, (&method, &url, &[]))));
        }
        _ => place(&provider.placement, credentials, &mut url, &mut headers),
    }
    let posting = Posting {
        method,
        url: url.to_string(),
        headers,
        body: bytes::Bytes::new(),
        timeout: TIMEOUT,
        excerpt_bytes: ANSWER_BYTES,
    };
    let answer = platform.outbound.call(tenant, posting).await;
    Some(answer.map(|posted| Called {
        status: posted.status,
        body: serde_json::from_slice(&posted.excerpt).unwrap_or(Value::Null),
    }))
}

/// The header `Authorization` of a request of an OAuth 1.0a account.
pub(super) fn sign(
    platform: &Platform,
    credentials: &Credentials,
    secrets: &GrantSecrets,
    client: &OpenClient,
    (method, url, form): (&str, &Url, &[(String, String)]),
) -> String {
    let signer = Signer {
        consumer_key: &client.id,
        consumer_secret: client.secret.expose(),
        token: credentials.get(names::ACCESS_TOKEN).map_or("", String::as_str),
        token_secret: secrets.token_secret.as_deref().unwrap_or_default(),
    };
    let nonce = hex::encode(platform.entropy.bytes::<16>());
    let timestamp_seconds = platform.clock.now_seconds();
    oauth1::authorization(signer, &Signed { method, url, form, more: &[], timestamp_seconds, nonce: &nonce })
}

/// Puts credentials where the service looks for them. A header of that name is replaced.
pub(super) fn place(
    placement: &[Placement],
    credentials: &Credentials,
    url: &mut Url,
    headers: &mut Vec<(String, String)>,
) {
    for one in placement {
        // A field that is optional and was not given: nothing is sent for it.
        let Ok(value) = render(&one.value, &|name| credentials.get(name).cloned()) else { continue };
        let value = encode(one.encoding, value);
        if let Some(name) = &one.header {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.clone(), value));
        } else if let Some(name) = &one.query {
            let others: Vec<(String, String)> = url
                .query_pairs()
                .filter(|(known, _)| known != name.as_str())
                .map(|(k, v)| (k.into(), v.into()))
                .collect();
            url.query_pairs_mut().clear().extend_pairs(others).append_pair(name, &value);
        }
    }
}

fn encode(encoding: Option<Encoding>, value: String) -> String {
    use base64::Engine;
    match encoding {
        Some(Encoding::Basic) => format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(value)),
        None => value,
    }
}

/// Gives a token back. Best effort: the account is deleted whatever the provider says.
pub(crate) async fn revoke(
    platform: &Platform,
    tenant: &Tenant,
    provider: &Provider,
    credentials: &Credentials,
    secrets: &GrantSecrets,
    client: &OpenClient,
) {
    let Auth::Oauth2(oauth) = &provider.auth else { return };
    let Some(revocation) = &oauth.revoke else { return };
    let access_token = credentials.get(names::ACCESS_TOKEN).map_or("", String::as_str);
    let value_of = |name: &str| match name {
        "client_id" => Some(client.id.clone()),
        name => credentials.get(name).cloned(),
    };
    let Ok(url) = render_url(&revocation.url, &value_of) else { return };
    let proof = Client { id: &client.id, secret: client.secret.expose() };
    let none = BTreeMap::new();
    let basic = |method: &str, request: TokenRequest| Posting {
        method: method.to_owned(),
        url: url.to_string(),
        headers: request.headers,
        body: request.body.into(),
        timeout: TIMEOUT,
        excerpt_bytes: ANSWER_BYTES,
    };
    let posting = match revocation.style {
        RevocationStyle::Form => {
            // A refresh token takes its access tokens with it.
            let token = secrets.refresh_token.as_deref().unwrap_or(access_token);
            basic("POST", domain::apps::oauth2::token_request(oauth.client_auth, proof, &[("token", token)], &none))
        }
        RevocationStyle::Bearer => {
            let headers = vec![("authorization".to_owned(), format!("Bearer {access_token}"))];
            basic("POST", TokenRequest { headers, body: String::new() })
        }
        RevocationStyle::DeleteJson => {
            let grant = [("access_token", access_token)];
            basic("DELETE", domain::apps::oauth2::token_request(ClientAuth::BasicJson, proof, &grant, &none))
        }
    };
    match platform.outbound.call(tenant, posting).await {
        Ok(posted) if posted.status < 400 => {}
        Ok(posted) => tracing::info!(app = provider.slug, status = posted.status, "a token could not be revoked"),
        Err(error) => tracing::info!(app = provider.slug, %error, "a token could not be revoked"),
    }
}

/// What a profile says of the account: what identifies it, and what people know it by.
pub(crate) fn read_profile(provider: &Provider, body: &Value) -> (Option<String>, Option<String>) {
    let text = |pointer: &String| match body.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let Some(profile) = &provider.profile else {
        return (None, None);
    };
    let label = profile.label.iter().find_map(text).map(|label| shown(&label)).filter(|label| !label.is_empty());
    (profile.id.as_ref().and_then(text), label)
}

/// For a client that is the account's own fields.
pub(crate) fn client_of_fields(provider: &Provider, credentials: &Credentials) -> Option<OpenClient> {
    let Auth::ClientCredentials(oauth) = &provider.auth else { return None };
    Some(OpenClient {
        id: credentials.get(&oauth.client_id_field)?.clone(),
        secret: Secret::new(credentials.get(&oauth.client_secret_field)?.clone()),
        owner: crate::records::ClientOwner::Account,
        scopes: None,
    })
}
