//! Work that outlives a request: what is queued, what is timed, and what was given up.

use bytes::Bytes;
use domain::ids::{ComponentId, DataStoreId, RunId, SourceId, UserId, WorkflowId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RecordError, Stored, decode_as, encode_as};

/// What a queued job is to do. Handlers are idempotent: a job may run twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub enum Job {
    /// The rest of a deletion of events that was too large for one batch. Both ends are included.
    DeleteEvents { emitter: String, streams: Vec<String>, first: Option<String>, last: Option<String> },
    /// Clears the streams, values and code of a workflow that is gone.
    ForgetWorkflow { workflow: WorkflowId },
    /// Clears the values of a data store that is gone.
    ForgetDataStore { data_store: DataStoreId },
    /// Clears the streams and values of a source that is gone.
    ForgetSource { source: SourceId },
    /// Removes a source whose deploy never ended, because its host died.
    AbandonDeploy { source: SourceId },
    /// Ends a change of a source that never ended, because its host died.
    EndChange { source: SourceId, until_ms: u64 },
    /// Removes code that a source no longer runs, unless something else does.
    CollectCode { component: ComponentId, program: String },
    /// Gives up the tenant's holds on package texts that none of its programs refers to.
    ReleasePackages { packages: Vec<String> },
    /// Deletes the data of a deleted account. Queued for the operator's tenant.
    ForgetUser { user: UserId, username: String, email: String },
}

/// What a timer fires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    pub source: SourceId,
    pub prop: String,
    /// In the form `domain::timers::Schedule::parse` reads.
    pub schedule: Value,
}

/// What is due: a timer of a source or a workflow, or a paused run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tick {
    Run {
        run: RunId,
    },
    /// Values of a data store are over.
    DataStore {
        data_store: DataStoreId,
    },
    Workflow {
        workflow: WorkflowId,
        trigger: String,
    },
    Source(Timer),
}

/// A delivery that ran out of attempts. Listed, and replayable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeadLetter {
    pub id: String,
    pub emitter: String,
    pub listener: String,
    pub event_name: String,
    pub event_id: String,
    pub attempts: u32,
    pub reason: String,
    /// The event itself: the stream may have moved on.
    pub event: Value,
    pub created_at: u64,
}

// === impl Job ===

impl Job {
    const KIND: &'static str = "job";
    const VERSION: u32 = 1;

    pub fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Self::KIND, Self::VERSION, self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(Self::KIND, Self::VERSION, bytes)
    }
}

// === impl Timer ===

impl Timer {
    const KIND: &'static str = "timer";
    const VERSION: u32 = 1;

    pub fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Self::KIND, Self::VERSION, self)
    }
}

// === impl Tick ===

impl Tick {
    pub fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Timer::KIND, Timer::VERSION, self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(Timer::KIND, Timer::VERSION, bytes)
    }
}

impl Stored for DeadLetter {
    const KIND: &'static str = "dead_letter";
    as_json!();

    fn id(&self) -> String {
        self.id.clone()
    }
}
