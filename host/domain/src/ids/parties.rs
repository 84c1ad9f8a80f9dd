//! Who emits and who listens: one of several kinds of thing, told apart by the prefix of its id.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{IdError, SourceId, WebhookId, WorkflowId};

/// A source or a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EmitterId {
    Source(SourceId),
    Workflow(WorkflowId),
}

/// A source, a workflow or a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListenerId {
    Source(SourceId),
    Workflow(WorkflowId),
    Webhook(WebhookId),
}

// === impl EmitterId ===

impl EmitterId {
    pub fn parse(text: &str) -> Result<Self, IdError> {
        SourceId::parse(text)
            .map(Self::Source)
            .or_else(|_| WorkflowId::parse(text).map(Self::Workflow))
            .map_err(|_| IdError::new("the id of a source (dc_…) or workflow (p_…)", text))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Source(id) => id.as_str(),
            Self::Workflow(id) => id.as_str(),
        }
    }
}

// === impl ListenerId ===

impl ListenerId {
    pub fn parse(text: &str) -> Result<Self, IdError> {
        SourceId::parse(text)
            .map(Self::Source)
            .or_else(|_| WorkflowId::parse(text).map(Self::Workflow))
            .or_else(|_| WebhookId::parse(text).map(Self::Webhook))
            .map_err(|_| IdError::new("the id of a source (dc_…), workflow (p_…) or webhook (wh_…)", text))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Source(id) => id.as_str(),
            Self::Workflow(id) => id.as_str(),
            Self::Webhook(id) => id.as_str(),
        }
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

as_text!(EmitterId);
as_text!(ListenerId);
