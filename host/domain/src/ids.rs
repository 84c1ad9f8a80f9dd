//! Ids: a prefix that tells the kind, and random characters, so that other ids cannot be guessed from one.
//!
//! Ids parse, never wrap: holding a `SourceId` means the text had the right prefix and length. Randomness is passed in.

#[macro_use]
mod text;

mod emit_id;
mod parties;
mod run_id;

use std::fmt;

use serde::Serialize;

use crate::base62;

pub use emit_id::EmitId;
pub use parties::{EmitterId, ListenerId};
pub use run_id::RunId;

/// Characters after the prefix. 62^12 is about 2^71: no collision to be expected within one installation.
const RANDOM_CHARACTERS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {expected}")]
pub struct IdError {
    /// What should have stood there, worded to follow "is not".
    pub expected: &'static str,
    /// What stood there, cut short.
    pub given: String,
}

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn parse(text: &str) -> Result<Self, IdError> {
                match text.strip_prefix($prefix) {
                    Some(rest) if is_random_part(rest, RANDOM_CHARACTERS) => Ok(Self(text.to_owned())),
                    _ => Err(IdError::new($expected, text)),
                }
            }

            pub fn from_random(random: [u8; 16]) -> Self {
                // 128 bits onto 62^12 values: the bias is below 2^-56.
                let characters = base62::encode(u128::from_be_bytes(random), RANDOM_CHARACTERS);
                Self(format!("{}{characters}", $prefix))
            }
        }

        text_id!($name);
    };
}

prefixed_id!(
    /// A saved component.
    ComponentId, "sc_", "a component id (sc_ and 12 letters or digits)"
);
prefixed_id!(
    /// A source: a deployed component.
    SourceId, "dc_", "a source id (dc_ and 12 letters or digits)"
);
prefixed_id!(SubscriptionId, "sub_", "a subscription id (sub_ and 12 letters or digits)");
prefixed_id!(WebhookId, "wh_", "a webhook id (wh_ and 12 letters or digits)");
prefixed_id!(UserId, "u_", "a user id (u_ and 12 letters or digits)");
prefixed_id!(WorkflowId, "p_", "a workflow id (p_ and 12 letters or digits)");
prefixed_id!(
    /// A connected account of an app.
    AccountId, "apn_", "an account id (apn_ and 12 letters or digits)"
);
prefixed_id!(DataStoreId, "ds_", "a data store id (ds_ and 12 letters or digits)");

/// The unguessable part of a source's endpoint address; it is the only thing that protects the endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct EndpointKey(String);

text_id!(EndpointKey);

// === impl EndpointKey ===

impl EndpointKey {
    pub const CHARACTERS: usize = 22;

    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_random_part(text, Self::CHARACTERS) {
            return Ok(Self(text.to_owned()));
        }
        Err(IdError::new("an endpoint key (22 letters or digits)", text))
    }

    pub fn from_random(random: [u8; 32]) -> Self {
        // Two halves of 11 characters, each from 128 bits, because 62^22 is more than one 128-bit number holds.
        let (left, right) = halves(random);
        let half = Self::CHARACTERS / 2;
        Self(base62::encode(left, half) + &base62::encode(right, half))
    }
}

impl fmt::Debug for EndpointKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is a secret: a reader of the log could call the endpoint with it.
        formatter.write_str("EndpointKey(…)")
    }
}

// === impl IdError ===

impl IdError {
    fn new(expected: &'static str, given: &str) -> Self {
        Self { expected, given: given.chars().take(64).collect() }
    }
}

fn is_random_part(text: &str, length: usize) -> bool {
    text.len() == length && base62::is_base62(text)
}

fn halves(random: [u8; 32]) -> (u128, u128) {
    let half = |bytes: &[u8]| bytes.iter().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    let (left, right) = random.split_at(16);
    (half(left), half(right))
}

#[cfg(test)]
mod tests;
