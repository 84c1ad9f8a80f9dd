//! Content codings of responses: gzip, deflate and br, undone while the body streams.

use std::{io, pin::Pin};

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, header::CONTENT_ENCODING};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::{
    body::BytesStream,
    error::{Cause, Error},
};

/// More codings on one body are a decompression bomb, not a server.
const MAX_CODINGS: usize = 2;

/// Size of the pieces handed on.
const CHUNK_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// The codings of a response in the order they were applied. Empty when there are none or when one
/// is unknown: then the body is passed on as it is, as the fetch standard asks.
pub(crate) fn codings(headers: &HeaderMap) -> Vec<Coding> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().unwrap_or("?").split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                "deflate" => codings.push(Coding::Deflate),
                "br" => codings.push(Coding::Brotli),
                "identity" | "" => {}
                _ => return Vec::new(),
            }
        }
    }
    if codings.len() > MAX_CODINGS { Vec::new() } else { codings }
}

// === impl Coding ===

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
        }
    }
}

/// Undoes one coding.
pub(crate) fn decode_one(mut encoded: BytesStream, coding: Coding) -> BytesStream {
    let decoded = stream::once(async move {
        let Some(first) = first_bytes(&mut encoded).await? else {
            // HEAD and 304 answers name a coding and have no body.
            return Ok(stream::empty().boxed());
        };
        let reader = reader(coding, first, encoded);
        let pieces = ReaderStream::with_capacity(reader, CHUNK_BYTES);
        Ok::<_, Error>(pieces.map_err(move |error| decode_error(coding, error)).boxed())
    });
    Box::pin(decoded.try_flatten())
}

async fn first_bytes(stream: &mut BytesStream) -> Result<Option<Bytes>, Error> {
    while let Some(bytes) = stream.try_next().await? {
        if !bytes.is_empty() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

fn reader(coding: Coding, first: Bytes, rest: BytesStream) -> Pin<Box<dyn AsyncRead + Send>> {
    // The low half of the first byte is 8 in every zlib header. Some servers send the bare deflate
    // data instead, and browsers and node accept both.
    let has_zlib_header = first.first().is_some_and(|byte| byte & 0x0f == 8);
    let whole = stream::once(async { Ok(first) }).chain(rest.map_err(io::Error::other));
    let source = StreamReader::new(Box::pin(whole));
    match coding {
        Coding::Gzip => {
            let mut decoder = GzipDecoder::new(source);
            decoder.multiple_members(true);
            Box::pin(decoder)
        }
        Coding::Deflate if has_zlib_header => Box::pin(ZlibDecoder::new(source)),
        Coding::Deflate => Box::pin(DeflateDecoder::new(source)),
        Coding::Brotli => Box::pin(BrotliDecoder::new(source)),
    }
}

/// Errors of the connection come through the decoder as they are.
fn decode_error(coding: Coding, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => Error::DecodeFailed { coding: coding.name(), cause: Cause::new(error) },
    }
}
