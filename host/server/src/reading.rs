//! The body of a request: whole, in time, decoded, and within bounds.
//!
//! What is bounded is what the sender means: `limit_bytes` holds for the body as it was sent and as it is decoded, so that
//! a few kilobytes cannot unfold into gigabytes. One content coding is undone; several on one body are refused, because
//! no client needs them and each multiplies the work of a hostile one.

use std::io;
use std::time::Duration;

use admission::Taken;
use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::api::Refusal;
use crate::body::Body;

/// Decoded between two chances for other tasks to run: a few milliseconds of work.
const PIECE_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) limit_bytes: usize,
    /// From the head to the last byte.
    pub(crate) timeout: Duration,
}

/// How the bytes of a body stand for its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// The coding that the head names; none when the body is its content.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Refusal> {
    let mut found = None;
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().unwrap_or("?").split(',') {
            let coding = match name.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                _ => return Err(Refusal::UnknownCoding),
            };
            if found.replace(coding).is_some() {
                return Err(Refusal::StackedCodings);
            }
        }
    }
    Ok(found)
}

/// The body as it was sent, counted against `memory` as it comes: a slow client holds what it has sent, and no more.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    bounds: Bounds,
    memory: &mut Taken,
) -> Result<Vec<u8>, Refusal> {
    let Bounds { limit_bytes, timeout } = bounds;
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|size_bytes| size_bytes > limit_bytes) {
        return Err(Refusal::TooLarge { limit_bytes });
    }
    let collected = tokio::time::timeout(timeout, collect(body, limit_bytes, memory)).await;
    collected.unwrap_or(Err(Refusal::TooSlow))
}

/// The content of a body, counted against `memory` too.
pub(crate) async fn decode(
    coding: Coding,
    encoded: &[u8],
    limit_bytes: usize,
    memory: &mut Taken,
) -> Result<Vec<u8>, Refusal> {
    let content = undo(coding, encoded, limit_bytes).await?;
    memory.grow(content.len() as u64).map_err(Refusal::Full)?;
    Ok(content)
}

/// One that is empty has none, whatever its head says.
async fn undo(coding: Coding, encoded: &[u8], limit_bytes: usize) -> Result<Vec<u8>, Refusal> {
    // The low half of the first byte is 8 in every zlib header. Some clients send the bare deflate data instead.
    let has_zlib_header = encoded.first().is_some_and(|byte| byte & 0x0f == 8);
    match coding {
        _ if encoded.is_empty() => Ok(Vec::new()),
        Coding::Gzip => {
            let mut decoder = GzipDecoder::new(encoded);
            decoder.multiple_members(true);
            let content = unfold(&mut decoder, limit_bytes).await?;
            whole(content, decoder.get_ref())
        }
        Coding::Deflate if has_zlib_header => {
            let mut decoder = ZlibDecoder::new(encoded);
            let content = unfold(&mut decoder, limit_bytes).await?;
            whole(content, decoder.get_ref())
        }
        Coding::Deflate => {
            let mut decoder = DeflateDecoder::new(encoded);
            let content = unfold(&mut decoder, limit_bytes).await?;
            whole(content, decoder.get_ref())
        }
        Coding::Brotli => {
            let mut decoder = BrotliDecoder::new(encoded);
            let content = unfold(&mut decoder, limit_bytes).await?;
            whole(content, decoder.get_ref())
        }
    }
}

async fn collect(mut body: Body, limit_bytes: usize, memory: &mut Taken) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BrokenOff)?.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > limit_bytes {
            return Err(Refusal::TooLarge { limit_bytes });
        }
        memory.grow(data.len() as u64).map_err(Refusal::Full)?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

async fn unfold(decoder: &mut (impl AsyncRead + Unpin), limit_bytes: usize) -> Result<Vec<u8>, Refusal> {
    let malformed = |error: io::Error| Refusal::MalformedCoding { message: error.to_string() };
    let mut content = Vec::new();
    loop {
        // One byte more than allowed tells that there is more.
        let room = (limit_bytes + 1 - content.len()).min(PIECE_BYTES) as u64;
        let read = (&mut *decoder).take(room).read_to_end(&mut content).await.map_err(malformed)?;
        if content.len() > limit_bytes {
            return Err(Refusal::TooLarge { limit_bytes });
        }
        if (read as u64) < room {
            return Ok(content);
        }
        tokio::task::yield_now().await;
    }
}

/// Bytes after the end of the coded content are not part of it, and nothing says what they are.
fn whole(content: Vec<u8>, rest: &&[u8]) -> Result<Vec<u8>, Refusal> {
    match rest.is_empty() {
        true => Ok(content),
        false => Err(Refusal::MalformedCoding { message: "there are bytes after its end".to_owned() }),
    }
}

#[cfg(test)]
mod tests;
