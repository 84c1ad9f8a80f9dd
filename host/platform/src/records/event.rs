//! The stored form of the entries of an emitter's streams.

use bytes::Bytes;
use domain::deliveries::DeliveryAttempt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RecordError, decode_as, encode_as};

pub use domain::event::{Event, LogEntry, Metadata};
pub use domain::runs::RunRecord;

const VERSION: u32 = 1;

/// What a stream holds.
pub trait StreamEntry: Serialize + DeserializeOwned {
    const KIND: &'static str;

    fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(Self::KIND, VERSION, self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(Self::KIND, VERSION, bytes)
    }
}

impl StreamEntry for Event {
    const KIND: &'static str = "event";
}

impl StreamEntry for LogEntry {
    const KIND: &'static str = "log";
}

impl StreamEntry for DeliveryAttempt {
    const KIND: &'static str = "delivery";
}
