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

/// In a form that came after [`VERSION`], of a kind that has one.
pub(super) fn encode_newer(
    kind: &'static str,
    version: u8,
    data: &impl Serialize,
    bytes: usize,
) -> Result<Bytes, RecordError> {
    let mut room = Vec::with_capacity(bytes + ROOM_BYTES);
    room.push(version);
    write(room, kind, data)
}

fn encode_into(mut room: Vec<u8>, kind: &'static str, data: &impl Serialize) -> Result<Bytes, RecordError> {
    room.push(VERSION);
    write(room, kind, data)
}

fn write(room: Vec<u8>, kind: &'static str, data: &impl Serialize) -> Result<Bytes, RecordError> {
    let encoded = postcard::to_extend(data, room);
    let unwritable = |error| RecordError::Unwritable { kind, source: serde::ser::Error::custom(error) };
    Ok(encoded.map_err(unwritable)?.into())
}

pub(super) fn decode<Data: DeserializeOwned>(kind: &'static str, bytes: &[u8]) -> Result<Data, RecordError> {
    decode_newer(kind, VERSION, bytes)
}

/// What [`encode_newer`] has written.
pub(super) fn decode_newer<Data: DeserializeOwned>(
    kind: &'static str,
    known: u8,
    bytes: &[u8],
) -> Result<Data, RecordError> {
    match bytes.split_first() {
        Some((version, rest)) if *version == known => {
            postcard::from_bytes(rest).map_err(|error| malformed(kind, error))
        }
        Some((version, _)) => Err(RecordError::Newer { kind, found: u32::from(*version), known: u32::from(known) }),
        None => Err(malformed(kind, "it is empty")),
    }
}

pub(super) fn malformed(kind: &'static str, error: impl std::fmt::Display) -> RecordError {
    RecordError::Malformed { kind, source: serde::de::Error::custom(error) }
}
