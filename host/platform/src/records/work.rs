//! What the data plane leaves to the queue. The control plane's chores share the queue, and are told apart here.

use bytes::Bytes;
use domain::fan_out::Cause;
use domain::ids::{AccountId, EmitterId, ListenerId, RunId, SourceId, WebhookId, WorkflowId};
use domain::json::Json;
use domain::runs::TriggerKind;
use domain::trace::{SpanId, TraceContext, TraceId};
use serde::{Deserialize, Serialize};

use store::{Enqueue, Op};

use crate::spans::AttemptSpan;

use super::{Event, Job, RecordError, Stored, decode_as, encode_as, table};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub(crate) enum Work {
    /// Runs an accepted request whose host died before its run was committed.
    Accepted {
        acceptance: String,
    },
    Deliver(Delivery),
    Send(Sending),
    Email(EmailSending),
    Object(ObjectSending),
    /// Goes on with a run of a workflow.
    Run {
        workflow: WorkflowId,
        run: RunId,
        segment: u32,
    },
    /// Looks whether a webhook fails for so long that it is to be reported.
    CheckWebhook {
        webhook: WebhookId,
    },
    #[serde(untagged)]
    Chore(Job),
}

/// One event for one listener. It carries the event: the stream may have moved on by the time it is delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) emitter: EmitterId,
    pub(crate) listener: ListenerId,
    #[serde(flatten)]
    pub(crate) cause: Cause,
    pub(crate) event: Event,
    /// Asked for by hand: it is tried also at a webhook that was switched off.
    #[serde(default)]
    pub(crate) is_replay: bool,
    /// The attempt that is being made.
    #[serde(skip)]
    pub(crate) attempt: AttemptSpan,
}

/// A request that was answered before its run was committed. The batch that holds what the run did removes it, and
/// requires that it is still there, so that a second run of it cannot be applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Acceptance {
    pub(crate) id: String,
    pub(crate) source: SourceId,
    pub(crate) event: Json,
    #[serde(default = "http")]
    pub(crate) kind: TriggerKind,
    #[serde(default)]
    pub(crate) accepted_at_ms: u64,
    #[serde(default, skip_serializing_if = "TraceId::is_none")]
    pub(crate) trace_id: TraceId,
    #[serde(default, skip_serializing_if = "SpanId::is_none")]
    pub(crate) span_id: SpanId,
}

/// A request that an action asked for with `$.send.http`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sending {
    /// Is told when it could not be sent.
    pub(crate) workflow: WorkflowId,
    pub(crate) step: String,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    /// In base64.
    pub(crate) body: String,
}

/// An e-mail that a step asked for with `$.send.email`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EmailSending {
    /// Is told when it could not be sent.
    pub(crate) workflow: WorkflowId,
    pub(crate) step: String,
    /// The same for each attempt, so that a mail that arrives twice can be told as one.
    pub(crate) id: String,
    pub(crate) subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    /// The account's owner when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) to: Vec<String>,
}

/// An object that a step asked for with `$.send.s3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectSending {
    /// Is told when it could not be stored.
    pub(crate) workflow: WorkflowId,
    pub(crate) step: String,
    pub(crate) bucket: String,
    /// Decided when the step was committed: another attempt writes the same object.
    pub(crate) key: String,
    /// Whose keys it is stored with; the operator's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<AccountId>,
    /// In base64.
    pub(crate) body: String,
}

// === impl Work ===

impl Work {
    const KIND: &'static str = "job";
    const VERSION: u32 = 1;

    pub(crate) fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Self::KIND, Self::VERSION, self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(Self::KIND, Self::VERSION, bytes)
    }
}

// === impl Delivery ===

impl Delivery {
    /// Events of one emitter reach one listener in their order.
    pub(crate) fn lane(&self) -> String {
        format!("{}/{}", self.emitter, self.listener)
    }

    /// The stream, by the name one subscribes to.
    pub(crate) fn event_name(&self) -> &str {
        let name = self.event.metadata.name.as_str();
        if name.is_empty() { "default" } else { name }
    }
}

impl Stored for Acceptance {
    const KIND: &'static str = "acceptance";
    as_json!();

    fn id(&self) -> String {
        self.id.clone()
    }
}

// === impl Acceptance ===

impl Acceptance {
    pub(crate) fn context(&self) -> TraceContext {
        TraceContext { trace_id: self.trace_id, span_id: self.span_id }
    }

    /// Makes the request durable and queues its run. The host that runs it at once holds the job until then, so that no
    /// other host does.
    pub(crate) fn accept(&self, due_ms: u64, held_until_ms: Option<u64>) -> Result<[Op; 2], RecordError> {
        let payload = Work::Accepted { acceptance: self.id.clone() }.encode()?;
        let run = Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms });
        Ok([table::put(self)?, run])
    }
}

/// Of acceptances that an older version wrote.
fn http() -> TriggerKind {
    TriggerKind::Http
}
