//! The meaning of the store's opaque bytes: typed records, each with a kind and a version.
//!
//! The store keeps bytes under names; every name and every shape is decided here, in one place. A record is stored as
//! `{"v": <version>, "data": …}`: a host that meets a newer version says so instead of guessing.

/// How records are written: as JSON, with their version.
macro_rules! as_json {
    () => {
        fn to_bytes(&self) -> Result<bytes::Bytes, $crate::records::RecordError> {
            $crate::records::encode_as(Self::KIND, Self::VERSION, self)
        }

        fn from_bytes(bytes: &[u8]) -> Result<Self, $crate::records::RecordError> {
            $crate::records::decode_as(Self::KIND, Self::VERSION, bytes)
        }
    };
}
pub(crate) use as_json;

mod account;
mod audit;
mod compact;
mod component;
mod connect;
mod data_store;
mod event;
mod history;
mod job;
mod package;
mod recording;
mod run;
mod session;
mod source;
mod subscription;
mod user;
mod webhook;
mod work;
pub(crate) mod workflow;
pub mod workflow_run;

pub mod names;
pub mod table;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use account::{
    Account, App, AppClient, AuthType, ClientOwner, Death, Grant, GrantSecrets, RefreshFailure, RefreshLease,
};
pub use audit::{AuditEntry, Via};
pub use component::Component;
pub use connect::{Attempt, AttemptSecrets, Connect, ConnectOutcome, Device};
pub use data_store::DataStore;
pub use event::{Event, LogEntry, Metadata, RunRecord, StreamEntry};
pub use history::{SourceHistory, SourceVersion};
pub use job::{DeadLetter, Job, Tick, Timer};
pub(crate) use package::{
    Deflated, HoldState, Modules, PACKAGE_TEXT, PackageHold, PackageRecord, PackageRef, PackageText, ProgramRecord,
};
pub use recording::Recording;
pub use session::{Session, SessionKind};
pub use source::{Origin, Phase, Revision, Source};
pub use subscription::{AutoSubscription, Subscription};
pub use table::Kept;
pub use user::{ApiKey, Installation, User};
pub use webhook::{PreviousSecret, Webhook, WebhookHealth};
pub(crate) use work::{Acceptance, Delivery, EmailSending, ObjectSending, Sending, Work};
pub use workflow::{Step, TriggerRecord, TriggerRecordKind, Workflow, WorkflowVersion};
pub use workflow_run::{EndedWorkflowRun, WorkflowRun};

/// The newest layout that this version reads, and writes as soon as every host reads it. Raised when the bytes of anything
/// change in a way that older hosts cannot read; then what is written asks [`crate::hosts::Hosts::writes`].
///
/// | layout | since then |
/// |---|---|
/// | 1 | everything before layouts were counted |
/// | 2 | recordings are compressed with a dictionary |
/// | 3 | what a recorded run did is kept as the texts it made |
/// | 4 | recordings of runs that were committed at once are sealed as one |
pub const LAYOUT: u32 = 4;

/// A record of one kind.
pub trait Stored: Sized + Send {
    /// The store's name for the kind; never changes.
    const KIND: &'static str;
    /// Raised when the shape changes in a way that older hosts cannot read, together with [`LAYOUT`].
    const VERSION: u32 = 1;

    /// [`as_json`] has both. They are written out for each kind, and not for all at once, because what is generic is compiled
    /// again in every crate that uses it.
    fn to_bytes(&self) -> Result<Bytes, RecordError>;
    fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError>;

    fn id(&self) -> String;

    /// A second name, unique among the tenant's records of the kind.
    fn alias(&self) -> Option<String> {
        None
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("a record of kind `{kind}` was written by a newer version ({found}, this one knows {known})")]
    Newer { kind: &'static str, found: u32, known: u32 },
    #[error("a record of kind `{kind}` cannot be read")]
    Malformed { kind: &'static str, source: serde_json::Error },
    #[error("a record of kind `{kind}` is missing, though another refers to it")]
    Gone { kind: &'static str },
    #[error("a record of kind `{kind}` is damaged: its content does not have the digest it is stored under")]
    Damaged { kind: &'static str },
    #[error("a record of kind `{kind}` cannot be written")]
    Unwritable { kind: &'static str, source: serde_json::Error },
}

// === impl RecordError ===

impl RecordError {
    /// Whether this one record is of no use, and others are.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Newer { .. } | Self::Malformed { .. })
    }
}

pub fn encode<R: Stored>(record: &R) -> Result<Bytes, RecordError> {
    record.to_bytes()
}

pub fn decode<R: Stored>(bytes: &[u8]) -> Result<R, RecordError> {
    R::from_bytes(bytes)
}

/// For what is stored beside records: entries of streams, payloads of jobs and timers.
pub(crate) fn encode_as<T: Serialize>(kind: &'static str, version: u32, data: &T) -> Result<Bytes, RecordError> {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        v: u32,
        data: &'a T,
    }
    match serde_json::to_vec(&Versioned { v: version, data }) {
        Ok(bytes) => Ok(bytes.into()),
        Err(source) => Err(RecordError::Unwritable { kind, source }),
    }
}

pub(crate) fn decode_as<T: DeserializeOwned>(kind: &'static str, known: u32, bytes: &[u8]) -> Result<T, RecordError> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    #[derive(Deserialize)]
    struct Versioned<T> {
        data: T,
    }
    let malformed = |source| RecordError::Malformed { kind, source };
    let Version { v: found } = serde_json::from_slice(bytes).map_err(malformed)?;
    if found > known {
        return Err(RecordError::Newer { kind, found, known });
    }
    let Versioned { data } = serde_json::from_slice(bytes).map_err(malformed)?;
    Ok(data)
}

#[cfg(test)]
mod tests;
