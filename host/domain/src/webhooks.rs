//! URLs of webhooks, and the signatures by which a receiver verifies a delivery.
//!
//! Signatures follow Standard Webhooks (symmetric, v1). Whether an address may be reached from here is not decided by
//! its text but when the connection is made.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use url::Url;

/// Longer addresses are refused by many servers; a bound because they are stored and sent back.
pub const URL_BYTES_MAXIMUM: usize = 2048;

/// An address events can be posted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebhookUrl(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("the url must start with http:// or https://")]
    NoProtocol,
    #[error("the url has no valid hostname")]
    NoHostname,
    #[error("the url has at most {URL_BYTES_MAXIMUM} bytes, this one has {size_bytes}")]
    TooLong { size_bytes: usize },
}

/// What signs the deliveries of one webhook: `whsec_` and base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SigningSecret(Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret is whsec_ followed by base64")]
pub struct SecretError;

// === impl WebhookUrl ===

impl WebhookUrl {
    /// Kept as it was given: the user finds in the list what they typed.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > URL_BYTES_MAXIMUM {
            return Err(UrlError::TooLong { size_bytes: text.len() });
        }
        // The URL standard repairs `http:host` and leading spaces; the specification asks for the real thing.
        let lower = text.to_ascii_lowercase();
        let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
        let rest = rest.ok_or(UrlError::NoProtocol)?;
        let has_host_text = !rest.starts_with(['/', '\\', '?', '#']) && !text.contains(char::is_whitespace);
        match Url::parse(text) {
            Ok(url) if has_host_text && url.has_host() => Ok(Self(text.to_owned())),
            _ => Err(UrlError::NoHostname),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WebhookUrl {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        Self::parse(&text)
    }
}

impl From<WebhookUrl> for String {
    fn from(url: WebhookUrl) -> Self {
        url.0
    }
}

// === impl SigningSecret ===

impl SigningSecret {
    const PREFIX: &'static str = "whsec_";

    /// Standard Webhooks asks for 24 to 64 bytes.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix(Self::PREFIX).ok_or(SecretError)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError)?;
        if bytes.is_empty() { Err(SecretError) } else { Ok(Self(bytes)) }
    }

    /// The text the user is given, once, when the webhook is created.
    pub fn reveal(&self) -> String {
        format!("{}{}", Self::PREFIX, STANDARD.encode(&self.0))
    }

    /// The value of the `webhook-signature` header for one delivery.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    pub fn sign(&self, message_id: &str, timestamp_seconds: i64, body: &[u8]) -> String {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        code.update(format!("{message_id}.{timestamp_seconds}.").as_bytes());
        code.update(body);
        format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningSecret(…)")
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = SecretError;

    fn try_from(text: String) -> Result<Self, SecretError> {
        Self::parse(&text)
    }
}

impl From<SigningSecret> for String {
    fn from(secret: SigningSecret) -> Self {
        secret.reveal()
    }
}

#[cfg(test)]
mod tests;
