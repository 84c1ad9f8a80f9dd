//! What the data plane leaves to the queue. The control plane's chores share the queue, and are told apart here.

use bytes::Bytes;
use domain::fan_out::Cause;
use domain::ids::{EmitterId, ListenerId, SourceId, WorkflowId};
use domain::json::Json;
use serde::{Deserialize, Serialize};

use crate::records::{self, Event, RecordError, Stored, decode_as, encode_as};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub(super) enum Work {
    /// Runs an accepted request whose host died before its run was committed.
    Accepted {
        acceptance: String,
    },
    Deliver(Delivery),
    Send(Sending),
    #[serde(untagged)]
    Chore(records::Job),
}

/// One event for one listener. It carries the event: the stream may have moved on by the time it is delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Delivery {
    pub(super) emitter: EmitterId,
    pub(super) listener: ListenerId,
    #[serde(flatten)]
    pub(super) cause: Cause,
    pub(super) event: Event,
    /// Asked for by hand: it is tried also at a webhook that was switched off.
    #[serde(default)]
    pub(super) is_replay: bool,
}

/// A request that was answered before its run was committed. The batch that holds what the run did removes it, and
/// requires that it is still there: whoever runs it a second time cannot apply it a second time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Acceptance {
    pub(super) id: String,
    pub(super) source: SourceId,
    pub(super) event: Json,
}

/// A request that an action asked for with `$.send.http`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sending {
    /// Is told when it could not be sent.
    pub(super) workflow: WorkflowId,
    pub(super) step: String,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// In base64.
    pub(super) body: String,
}

// === impl Work ===

impl Work {
    const KIND: &'static str = "job";
    const VERSION: u32 = 1;

    pub(super) fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Self::KIND, Self::VERSION, self)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(Self::KIND, Self::VERSION, bytes)
    }
}

// === impl Delivery ===

impl Delivery {
    /// Events of one emitter reach one listener in their order.
    pub(super) fn lane(&self) -> String {
        format!("{}/{}", self.emitter, self.listener)
    }

    /// The stream, by the name one subscribes to.
    pub(super) fn event_name(&self) -> &str {
        let name = self.event.metadata.name.as_str();
        if name.is_empty() { "default" } else { name }
    }
}

impl Stored for Acceptance {
    const KIND: &'static str = "acceptance";

    fn id(&self) -> String {
        self.id.clone()
    }
}
