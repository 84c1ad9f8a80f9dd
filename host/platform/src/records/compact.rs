//! A binary form for what is written with every run: a third of its size as JSON, and cheaper to make.
//!
//! The first byte tells the form: JSON begins with a brace, this with its version.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RecordError;

/// Raised with every change of what is encoded; earlier ones have to be read as well.
const VERSION: u8 = 1;

/// What the record of an ordinary run takes, so that it is not moved while it is written.
const ROOM_BYTES: usize = 256;

pub(super) fn encode(kind: &'static str, data: &impl Serialize) -> Result<Bytes, RecordError> {
    encode_into(Vec::with_capacity(ROOM_BYTES), kind, data)
}

/// Something larger, whose size is known.
pub(super) fn encode_large(kind: &'static str, data: &impl Serialize, bytes: usize) -> Result<Bytes, RecordError> {
    encode_into(Vec::with_capacity(bytes + ROOM_BYTES), kind, data)
}

fn encode_into(mut room: Vec<u8>, kind: &'static str, data: &impl Serialize) -> Result<Bytes, RecordError> {
    room.push(VERSION);
    let encoded = postcard::to_extend(data, room);
    let unwritable = |error| RecordError::Unwritable { kind, source: serde::ser::Error::custom(error) };
    Ok(encoded.map_err(unwritable)?.into())
}

pub(super) fn decode<Data: DeserializeOwned>(kind: &'static str, bytes: &[u8]) -> Result<Data, RecordError> {
    let known = u32::from(VERSION);
    match bytes.split_first() {
        Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|error| malformed(kind, error)),
        Some((version, _)) => Err(RecordError::Newer { kind, found: u32::from(*version), known }),
        None => Err(malformed(kind, "it is empty")),
    }
}

pub(super) fn malformed(kind: &'static str, error: impl std::fmt::Display) -> RecordError {
    RecordError::Malformed { kind, source: serde::de::Error::custom(error) }
}
