//! Who gets which events: one stream of one emitter, or of all emitters of a kind, routed to a listener.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::emit::{Channel, ChannelError};
use crate::ids::{EmitterId, IdError, ListenerId, SubscriptionId};

/// What a subscription names as its emitter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EmitterPattern {
    Exact(EmitterId),
    /// `dc_*`
    AllSources,
    /// `p_*`
    AllWorkflows,
}

/// A stream that events are emitted into.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// What a component emits; `default` or a channel of its own.
    Events(Channel),
    /// `$errors`: what sources and workflows threw.
    Errors,
    /// `$logs`: what sources wrote to their log.
    Logs,
    /// `$runs`: records of runs. It can be listed and followed, and not subscribed to.
    Runs,
}

/// The `event_name` of a subscription as it was given: the empty string and `default` are shown apart, and mean the
/// same stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventName {
    given: String,
    stream: Stream,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub emitter_id: EmitterPattern,
    pub listener_id: ListenerId,
    pub event_name: EventName,
}

/// A wish to be subscribed to every source and workflow created from now on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AutoSubscription {
    pub listener_id: ListenerId,
    pub event_name: EventName,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionError {
    #[error("`{listener}` would listen to itself")]
    ListensToItself { listener: ListenerId },
    #[error("an auto-subscription needs an event name")]
    NoEventName,
}

/// Refuses what would run a source on its own events for ever.
pub fn check(emitter: &EmitterPattern, listener: &ListenerId) -> Result<(), SubscriptionError> {
    match emitter {
        EmitterPattern::Exact(emitter) if emitter.as_str() == listener.as_str() => {
            Err(SubscriptionError::ListensToItself { listener: listener.clone() })
        }
        _ => Ok(()),
    }
}

/// The listeners of one event, each once: a listener subscribed by id and by glob still gets an event only once.
pub fn listeners<'a>(
    subscriptions: impl IntoIterator<Item = &'a Subscription>,
    emitter: &EmitterId,
    stream: &Stream,
) -> Vec<&'a ListenerId> {
    let mut found: Vec<&ListenerId> = Vec::new();
    for subscription in subscriptions {
        if subscription.matches(emitter, stream) && !found.contains(&&subscription.listener_id) {
            found.push(&subscription.listener_id);
        }
    }
    found
}

// === impl Subscription ===

impl Subscription {
    /// A glob never includes the listener itself: `dc_*` with a source as listener would otherwise feed on itself.
    pub fn matches(&self, emitter: &EmitterId, stream: &Stream) -> bool {
        self.event_name.stream == *stream
            && self.emitter_id.matches(emitter)
            && emitter.as_str() != self.listener_id.as_str()
    }
}

// === impl AutoSubscription ===

impl AutoSubscription {
    pub fn new(event_name: EventName, listener_id: ListenerId) -> Result<Self, SubscriptionError> {
        if event_name.given.is_empty() {
            return Err(SubscriptionError::NoEventName);
        }
        Ok(Self { listener_id, event_name })
    }

    /// Whether a new emitter is to be subscribed to; a listener that is the emitter itself is not.
    pub fn applies_to(&self, created: &EmitterId) -> bool {
        created.as_str() != self.listener_id.as_str()
    }
}

// === impl EmitterPattern ===

impl EmitterPattern {
    pub fn parse(text: &str) -> Result<Self, IdError> {
        match text {
            "dc_*" => Ok(Self::AllSources),
            "p_*" => Ok(Self::AllWorkflows),
            text => EmitterId::parse(text).map(Self::Exact),
        }
    }

    pub fn matches(&self, emitter: &EmitterId) -> bool {
        match self {
            Self::Exact(id) => id == emitter,
            Self::AllSources => matches!(emitter, EmitterId::Source(_)),
            Self::AllWorkflows => matches!(emitter, EmitterId::Workflow(_)),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Exact(id) => id.as_str(),
            Self::AllSources => "dc_*",
            Self::AllWorkflows => "p_*",
        }
    }
}

impl fmt::Display for EmitterPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl TryFrom<String> for EmitterPattern {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<EmitterPattern> for String {
    fn from(pattern: EmitterPattern) -> Self {
        pattern.as_str().to_owned()
    }
}

// === impl Stream ===

impl Stream {
    /// An empty name is the default stream. Other names that start with `$` do not exist.
    pub fn parse(name: &str) -> Result<Self, ChannelError> {
        match name {
            "$errors" => Ok(Self::Errors),
            "$logs" => Ok(Self::Logs),
            "$runs" => Ok(Self::Runs),
            name => Channel::parse(name).map(Self::Events),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Events(channel) => channel.as_str(),
            Self::Errors => "$errors",
            Self::Logs => "$logs",
            Self::Runs => "$runs",
        }
    }

    /// Spec, Event summary: `metadata.name` is "empty string for the default stream".
    pub fn metadata_name(&self) -> &str {
        match self {
            Self::Events(Channel::Default) => "",
            other => other.as_str(),
        }
    }
}

// === impl EventName ===

impl EventName {
    pub fn parse(text: &str) -> Result<Self, ChannelError> {
        match Stream::parse(text)? {
            Stream::Runs => Err(ChannelError::Reserved { name: text.to_owned() }),
            stream => Ok(Self { given: text.to_owned(), stream }),
        }
    }

    /// As given; empty when no name was given.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl TryFrom<String> for EventName {
    type Error = ChannelError;

    fn try_from(text: String) -> Result<Self, ChannelError> {
        Self::parse(&text)
    }
}

impl From<EventName> for String {
    fn from(name: EventName) -> Self {
        name.given
    }
}

#[cfg(test)]
mod tests;
