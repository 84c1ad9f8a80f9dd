//! API keys: what they may do, and the shape of their text.
//!
//! `wsk_<id><secret><checksum>`: the prefix is for secret scanners, the id names the key's record without telling the
//! key, and the checksum tells a mistyped key from an unknown one without asking the store. Keys that an operator chose,
//! and those of older versions, have any other shape.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base62;

/// What a key may be used for. Every route of the API names the one that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Reading, except for what is secret. Every key may.
    Read,
    /// Webhooks, subscriptions, connected accounts, keys, events, and running what is deployed.
    Write,
    /// Components and sources: everything that brings code to the server or changes which code runs.
    Deploy,
    /// The operator's routes, for users with the admin role.
    Admin,
}

/// What one key may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(Vec<Scope>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("`{given}` is not a scope: read, write, deploy and admin are")]
    Unknown { given: String },
    #[error("a key needs at least one scope")]
    None,
}

/// A key in the shape of this version.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

/// The text has the prefix of a key, and its length or checksum is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the API key is mistyped or incomplete: its checksum does not match")]
pub struct Mistyped;

// === impl Scope ===

impl Scope {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Deploy, Self::Admin];

    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let known = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        known.ok_or_else(|| ScopeError::Unknown { given: text.chars().take(32).collect() })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Deploy => "deploy",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

// === impl Scopes ===

impl Scopes {
    pub fn all() -> Self {
        Self(Scope::ALL.to_vec())
    }

    /// In one order and each once. `read` is added: a key that changes something sees what it changed.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, ScopeError> {
        let mut scopes = names.into_iter().map(Scope::parse).collect::<Result<Vec<_>, _>>()?;
        if scopes.is_empty() {
            return Err(ScopeError::None);
        }
        scopes.push(Scope::Read);
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Self(scopes))
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// The first of `wanted` that is not among these.
    pub fn first_missing(&self, wanted: &Self) -> Option<Scope> {
        wanted.0.iter().copied().find(|scope| !self.has(*scope))
    }

    pub fn without(&self, scope: Scope) -> Self {
        Self(self.0.iter().copied().filter(|kept| *kept != scope).collect())
    }
}

// === impl KeyText ===

impl KeyText {
    pub const PREFIX: &'static str = "wsk_";
    const ID_CHARACTERS: usize = 12;
    /// 62^43 is just above 2^256.
    const SECRET_CHARACTERS: usize = 43;
    /// 62^6 is above 2^32.
    const CHECKSUM_CHARACTERS: usize = 6;

    pub fn from_random(id: [u8; 16], secret: [u8; 32]) -> Self {
        let id = base62::encode(u128::from_be_bytes(id), Self::ID_CHARACTERS);
        let secret = base62::encode_bytes(&secret, Self::SECRET_CHARACTERS);
        let body = format!("{}{id}{secret}", Self::PREFIX);
        let checksum = checksum_of(&body);
        Self(body + &checksum)
    }

    /// None for a text that does not claim to be of this shape.
    pub fn parse(text: &str) -> Option<Result<Self, Mistyped>> {
        let rest = text.strip_prefix(Self::PREFIX)?;
        let length = Self::ID_CHARACTERS + Self::SECRET_CHARACTERS + Self::CHECKSUM_CHARACTERS;
        if rest.len() != length || !base62::is_base62(rest) {
            return Some(Err(Mistyped));
        }
        let (body, checksum) = text.split_at(text.len() - Self::CHECKSUM_CHARACTERS);
        let is_right = checksum_of(body) == checksum;
        Some(if is_right { Ok(Self(text.to_owned())) } else { Err(Mistyped) })
    }

    /// The id of its record; it is no secret.
    pub fn record_id(&self) -> String {
        let id = self.0.get(Self::PREFIX.len()..Self::PREFIX.len() + Self::ID_CHARACTERS).unwrap_or_default();
        format!("key_{id}")
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyText(…)")
    }
}

fn checksum_of(text: &str) -> String {
    base62::encode(u128::from(crc32(text.as_bytes())), KeyText::CHECKSUM_CHARACTERS)
}

/// CRC-32 as in zip and PNG (reflected, 0xEDB88320). Bit by bit: it is asked for 59 bytes of a request's head.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests;
