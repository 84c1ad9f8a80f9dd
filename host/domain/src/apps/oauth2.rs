//! OAuth 2.0, purely: addresses to send a user to, requests to a token endpoint, and what its answers say.
//!
//! Nothing here is logged or shown: a request holds secrets, and an answer too. What goes wrong is told by its code.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;
use url::form_urlencoded::{self, Serializer};

use super::{ClientAuth, Oauth2, Pkce};

/// Longest error text of a provider that is shown.
const SHOWN_CHARACTERS: usize = 200;

/// The client that the operator or the tenant registered.
#[derive(Clone, Copy)]
pub struct Client<'a> {
    pub id: &'a str,
    pub secret: &'a str,
}

/// What an authorization request is made of.
pub struct Authorization<'a> {
    pub client_id: &'a str,
    pub redirect_uri: &'a str,
    pub state: &'a str,
    pub verifier: &'a str,
    pub scopes: &'a [String],
}

/// A request to a token endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRequest {
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What a token endpoint gave.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub expires_in_seconds: Option<u64>,
    /// None when the answer does not say.
    pub scopes: Option<Vec<String>>,
    /// Further values for `$auth`.
    pub fields: BTreeMap<String, String>,
}

/// What a device authorization endpoint gave (RFC 8628, section 3.2).
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceCode {
    pub device_code: String,
    pub user_code: String,
    pub verification_uri: String,
    pub expires_in_seconds: u64,
    pub interval_seconds: u64,
}

/// A token endpoint said no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// RFC 6749, section 5.2. The text is the provider's, cut and without control characters.
    #[error("the provider answered {code}{}", described(.description))]
    Refused { code: String, description: String },
    #[error("the provider answered {status}")]
    Status { status: u16 },
    #[error("the provider's answer has no access token")]
    NoToken,
}

/// The proof that the client which redeems a code is the one that asked for it.
pub fn challenge(pkce: Pkce, verifier: &str) -> String {
    match pkce {
        Pkce::S256 => URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)),
        Pkce::Plain => verifier.to_owned(),
    }
}

/// A verifier of 256 random bits.
pub fn verifier(random: [u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// Where the user's browser is sent.
pub fn authorization_url(oauth: &Oauth2, mut address: Url, asked: &Authorization<'_>) -> Url {
    let method = match oauth.pkce {
        Pkce::S256 => "S256",
        Pkce::Plain => "plain",
    };
    {
        let mut query = address.query_pairs_mut();
        query.append_pair("response_type", "code");
        query.append_pair("client_id", asked.client_id);
        query.append_pair("redirect_uri", asked.redirect_uri);
        query.append_pair("state", asked.state);
        query.append_pair("code_challenge", &challenge(oauth.pkce, asked.verifier));
        query.append_pair("code_challenge_method", method);
        if !asked.scopes.is_empty() {
            let name = oauth.scope_parameter.as_deref().unwrap_or("scope");
            query.append_pair(name, &asked.scopes.join(oauth.separator()));
        }
        for (name, value) in &oauth.parameters {
            query.append_pair(name, value);
        }
    }
    address
}

/// A request with a grant, the client's proof and what the provider wants besides.
pub fn token_request(
    client_auth: ClientAuth,
    client: Client<'_>,
    grant: &[(&str, &str)],
    more: &BTreeMap<String, String>,
) -> TokenRequest {
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    let mut pairs: Vec<(&str, &str)> = grant.to_vec();
    match client_auth {
        ClientAuth::Body => {
            pairs.push(("client_id", client.id));
            if !client.secret.is_empty() {
                pairs.push(("client_secret", client.secret));
            }
        }
        ClientAuth::Basic | ClientAuth::BasicJson => headers.push(("authorization".to_owned(), basic(client))),
    }
    pairs.extend(more.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let (content_type, body) = match client_auth {
        ClientAuth::BasicJson => {
            let object: Map<String, Value> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
            ("application/json", Value::Object(object).to_string())
        }
        _ => ("application/x-www-form-urlencoded", Serializer::new(String::new()).extend_pairs(pairs).finish()),
    };
    headers.push(("content-type".to_owned(), content_type.to_owned()));
    TokenRequest { headers, body }
}

/// RFC 6749, section 2.3.1: both are encoded as in a form before they are joined.
fn basic(client: Client<'_>) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(client.id), encode(client.secret))))
}

/// Reads the answer of a token endpoint, JSON or a form.
pub fn read_tokens(oauth: &Oauth2, status: u16, body: &[u8]) -> Result<Tokens, TokenError> {
    let answer = read_answer(status, body)?;
    let pointer = oauth.access_token.as_deref().unwrap_or("/access_token");
    let access_token = answer.pointer(pointer).and_then(Value::as_str).filter(|token| !token.is_empty());
    let access_token = access_token.ok_or(TokenError::NoToken)?.to_owned();
    // Of an answer with a token for a user and another for a bot, the rest is beside the token.
    let beside = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let beside = answer.pointer(beside).unwrap_or(&answer);
    let text = |name: &str| beside.get(name).and_then(Value::as_str);
    let scopes = text("scope").map(scopes_of);
    let fields = oauth.answer_fields.iter().filter_map(|(name, pointer)| {
        let value = answer.pointer(pointer)?;
        Some((name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    });
    Ok(Tokens {
        access_token,
        refresh_token: text("refresh_token").filter(|token| !token.is_empty()).map(str::to_owned),
        expires_in_seconds: beside.get("expires_in").and_then(whole_number).or(oauth.expires_in_seconds),
        scopes,
        fields: fields.collect(),
    })
}

pub fn read_device_code(status: u16, body: &[u8]) -> Result<DeviceCode, TokenError> {
    let answer = read_answer(status, body)?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned).ok_or(TokenError::NoToken);
    Ok(DeviceCode {
        device_code: text("device_code")?,
        user_code: text("user_code")?,
        verification_uri: text("verification_uri").or_else(|_| text("verification_url"))?,
        expires_in_seconds: answer.get("expires_in").and_then(whole_number).unwrap_or(900),
        interval_seconds: answer.get("interval").and_then(whole_number).unwrap_or(5),
    })
}

/// The scopes that were asked for and not granted.
pub fn missing_scopes(asked: &[String], granted: &[String]) -> Vec<String> {
    asked.iter().filter(|scope| !granted.contains(scope)).cloned().collect()
}

fn read_answer(status: u16, body: &[u8]) -> Result<Value, TokenError> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_else(|_| {
        let pairs = form_urlencoded::parse(body);
        Value::Object(pairs.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect())
    });
    // Some answer 200 with an error, and some give it as an object.
    let error = answer.get("error").filter(|error| !error.is_null());
    if let Some(error) = error {
        let code = error.as_str().or_else(|| error.get("code").and_then(Value::as_str)).unwrap_or("error");
        let description = answer.get("error_description").and_then(Value::as_str).unwrap_or_default();
        return Err(TokenError::Refused { code: shown(code), description: shown(description) });
    }
    if answer.get("ok") == Some(&Value::Bool(false)) || !(200..300).contains(&status) {
        return Err(TokenError::Status { status });
    }
    Ok(answer)
}

/// Scopes as providers write them: with spaces, or with commas.
fn scopes_of(text: &str) -> Vec<String> {
    text.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
}

/// Some providers write numbers as texts.
fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A provider's text, fit to be shown to a person: one line, not long.
pub fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(SHOWN_CHARACTERS).collect()
}

fn described(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(": {description}") }
}

// === impl TokenError ===

impl TokenError {
    /// The grant is gone for good: another try cannot succeed.
    pub fn is_final(&self) -> bool {
        let Self::Refused { code, .. } = self else {
            return false;
        };
        // `bad_refresh_token` is GitHub's, `token_revoked` and `invalid_refresh_token` are Slack's.
        ["invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_revoked", "token_expired"]
            .contains(&code.as_str())
    }

    /// RFC 8628, section 3.5: the user has not answered yet.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "authorization_pending" || code == "slow_down")
    }

    pub fn is_slow_down(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "slow_down")
    }
}
