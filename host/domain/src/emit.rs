//! One call of `$emit`, and the order in which a run's emits leave.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::json::Json;
use crate::limits::{Limits, NAME_BYTES_MAXIMUM};
use crate::raw::whole_number;

/// What a component emitted. Whether it becomes an event is for `dedupe` to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Emit {
    pub event: Json,
    pub id: Option<EmitKey>,
    pub channel: Channel,
    pub summary: Option<String>,
    /// When it happened, in epoch milliseconds; orders the emits of a run.
    pub ts: Option<i64>,
    /// When subscribers are to get it, in epoch milliseconds.
    pub delivery_ts: Option<i64>,
}

/// The `id` given to `$emit`. Numbers and strings meet as text: an API that turns `7` into `"7"` is still talking
/// about the same thing, and emitting it twice would be the surprise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EmitKey(String);

/// The stream an event goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Channel {
    #[default]
    Default,
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("channel `{name}` is the platform's: names that start with $ are reserved")]
    Reserved { name: String },
    #[error("the name of a channel has at most {limit_bytes} bytes, this one has {size_bytes}")]
    TooLong { size_bytes: usize, limit_bytes: usize },
}

/// Why an emit is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("its id must be a string or a number, and is {is}")]
    Id { is: &'static str },
}

/// Sources remember a hundred ids: a longer one is remembered by its digest, so that the memory stays small and equal
/// ids stay equal.
pub const KEY_BYTES_MAXIMUM: usize = 256;

/// Sorts by `ts`, oldest first. Emits without one stay exactly where they are: the others are sorted among the places
/// they hold, so a component that dates some of its emits does not find the rest moved to one end. Equal times keep
/// the order of the calls.
pub fn order(emits: Vec<Emit>) -> Vec<Emit> {
    let is_dated: Vec<bool> = emits.iter().map(|emit| emit.ts.is_some()).collect();
    let (mut dated, undated): (Vec<Emit>, Vec<Emit>) = emits.into_iter().partition(|emit| emit.ts.is_some());
    dated.sort_by_key(|emit| emit.ts);
    let (mut dated, mut undated) = (dated.into_iter(), undated.into_iter());
    is_dated.into_iter().filter_map(|is_dated| if is_dated { dated.next() } else { undated.next() }).collect()
}

// === impl Emit ===

impl Emit {
    /// Reads the second argument of `$emit`. What has the wrong type is ignored, as JavaScript would, with two
    /// exceptions: a channel that is not the component's to use, because the event would surface somewhere unexpected, and
    /// an id that cannot tell events apart, because the author takes them to be deduplicated.
    pub fn parse(event: impl Into<Json>, metadata: &Value) -> Result<Self, EmitError> {
        Ok(Self {
            event: event.into(),
            id: metadata.get("id").map(EmitKey::parse).transpose()?.flatten(),
            channel: Channel::parse(metadata.get("name").and_then(Value::as_str).unwrap_or_default())?,
            summary: metadata.get("summary").and_then(text),
            ts: metadata.get("ts").and_then(instant_ms),
            delivery_ts: metadata.get("delivery_ts").and_then(instant_ms),
        })
    }

    /// The same within an installation's limits.
    pub fn checked(self, limits: &Limits) -> Result<Self, EmitError> {
        self.channel.check(limits)?;
        Ok(self)
    }
}

// === impl EmitKey ===

impl EmitKey {
    /// A string with something in it, or a number; nothing for an empty string and null.
    pub fn parse(value: &Value) -> Result<Option<Self>, EmitError> {
        match value {
            Value::String(text) if text.len() > KEY_BYTES_MAXIMUM => Ok(Some(Self(digest(text)))),
            Value::String(text) if !text.is_empty() => Ok(Some(Self(text.clone()))),
            Value::Number(number) => {
                let text = whole_number(value).map_or_else(|| number.to_string(), |number| number.to_string());
                Ok(Some(Self(text)))
            }
            Value::String(_) | Value::Null => Ok(None),
            Value::Bool(_) => Err(EmitError::Id { is: "a boolean" }),
            Value::Array(_) => Err(EmitError::Id { is: "an array" }),
            Value::Object(_) => Err(EmitError::Id { is: "an object" }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl Channel ===

impl Channel {
    /// An empty name and `default` are the default channel.
    pub fn parse(name: &str) -> Result<Self, ChannelError> {
        match name {
            "" | "default" => Ok(Self::Default),
            name if name.len() > NAME_BYTES_MAXIMUM => {
                Err(ChannelError::TooLong { size_bytes: name.len(), limit_bytes: NAME_BYTES_MAXIMUM })
            }
            name if name.starts_with('$') => Err(ChannelError::Reserved { name: name.to_owned() }),
            name => Ok(Self::Named(name.to_owned())),
        }
    }

    /// Whether an installation takes a name that the store could hold.
    pub fn check(&self, limits: &Limits) -> Result<(), ChannelError> {
        let (size_bytes, limit_bytes) = (self.as_str().len(), limits.channel_bytes);
        match self {
            Self::Named(_) if size_bytes > limit_bytes => Err(ChannelError::TooLong { size_bytes, limit_bytes }),
            _ => Ok(()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Default => "default",
            Self::Named(name) => name,
        }
    }
}

impl TryFrom<String> for Channel {
    type Error = ChannelError;

    fn try_from(name: String) -> Result<Self, ChannelError> {
        Self::parse(&name)
    }
}

impl From<Channel> for String {
    fn from(channel: Channel) -> Self {
        channel.as_str().to_owned()
    }
}

fn digest(text: &str) -> String {
    format!("sha256:{}", STANDARD.encode(Sha256::digest(text)))
}

/// A finite number of milliseconds within JavaScript's calendar; anything else is no time at all.
fn instant_ms(value: &Value) -> Option<i64> {
    const CALENDAR_MS: f64 = 8.64e15;
    let number = value.as_f64().filter(|number| number.abs() <= CALENDAR_MS)?;
    Some(number.floor() as i64)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
