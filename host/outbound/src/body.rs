//! The body of a response: a stream that knows its limit and its deadline.
//!
//! Nothing is read ahead of the reader beyond hyper's buffers, and dropping it closes the exchange.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http_body::Body as _;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    config::LONGEST_TIMEOUT,
    decode::{self, Coding},
    error::{Cause, Error, Phase},
    request::BodyError,
};

/// Bytes on the wire that may come on top of the limit for decoded bytes: a body that does not
/// compress grows a little, and without a limit a stream of empty blocks would decode for ever.
const ENCODING_OVERHEAD_BYTES: u64 = 64 << 10;

/// Inflating this much takes less than a millisecond.
const YIELD_AFTER_BYTES: usize = 64 << 10;

pub struct ResponseBody {
    /// `None` after the end or an error.
    stream: Option<BytesStream>,
    timer: Pin<Box<Sleep>>,
    after: Duration,
}

pub(crate) type BytesStream = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;

/// When a request must be over, body included.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}

/// For telling what went wrong while reading.
pub(crate) struct Origin {
    pub(crate) host: String,
    pub(crate) body_error: BodyError,
}

// === impl Deadline ===

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "a deadline on the clock of the runtime")]
    pub(crate) fn start(after: Duration) -> Self {
        let at = Instant::now() + after.min(LONGEST_TIMEOUT);
        Self { at, after }
    }
}

// === impl ResponseBody ===

impl ResponseBody {
    pub(crate) fn new(
        incoming: Incoming,
        origin: Origin,
        codings: &[Coding],
        limit_bytes: u64,
        deadline: Deadline,
    ) -> Self {
        let declared_bytes = incoming.size_hint().lower();
        let raw = BodyDataStream::new(incoming).map(move |item| item.map_err(|error| read_error(&origin, error)));
        let stream: BytesStream = if !codings.is_empty() {
            decode_within(Box::pin(raw), codings, limit_bytes)
        } else if declared_bytes > limit_bytes {
            // Here and not before: the status and the headers are worth having all the same.
            Box::pin(stream::iter([Err(Error::ResponseTooLarge { limit_bytes })]))
        } else {
            Box::pin(Limited::new(Box::pin(raw), limit_bytes, limit_bytes))
        };
        Self { stream: Some(stream), timer: Box::pin(sleep_until(deadline.at)), after: deadline.after }
    }

    /// The next piece, or `None` at the end.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Error>> {
        self.next().await
    }

    /// The whole body, or an error when it is longer than `limit_bytes`.
    pub async fn collect(mut self, limit_bytes: u64) -> Result<Bytes, Error> {
        let mut whole = BytesMut::new();
        while let Some(bytes) = self.chunk().await.transpose()? {
            if (whole.len() + bytes.len()) as u64 > limit_bytes {
                return Err(Error::ResponseTooLarge { limit_bytes });
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.freeze())
    }
}

impl Stream for ResponseBody {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = self.stream.as_mut() else {
            return Poll::Ready(None);
        };
        let item = stream.poll_next_unpin(context);
        let is_late = self.timer.as_mut().poll(context).is_ready();
        let item = match item {
            // A body that is over in time stays so, however late its end is read.
            Poll::Ready(None) => None,
            _ if is_late => Some(Err(Error::Timeout { phase: Phase::Body, after: self.after })),
            Poll::Ready(item) => item,
            Poll::Pending => return Poll::Pending,
        };
        if !matches!(item, Some(Ok(_))) {
            // Lets go of the connection at once, not when the reader drops the body.
            self.stream = None;
        }
        Poll::Ready(item)
    }
}

/// Undoes the codings. What goes into each stage is bounded, not only the first input and the last output: a stage can
/// turn kilobytes into gigabytes that the next one turns into nothing.
fn decode_within(raw: BytesStream, codings: &[Coding], limit_bytes: u64) -> BytesStream {
    let encoded_bytes = limit_bytes.saturating_add(limit_bytes / 8).saturating_add(ENCODING_OVERHEAD_BYTES);
    let decoded = codings.iter().rev().fold(raw, |stream, coding| {
        let bounded: BytesStream = Box::pin(Limited::new(stream, encoded_bytes, limit_bytes));
        decode::decode_one(bounded, *coding)
    });
    Box::pin(Limited::new(decoded, limit_bytes, limit_bytes))
}

/// A stream that ends with an error when it is too long, and gives way to other tasks: decoders take all the input that
/// is ready, however much that is.
struct Limited {
    stream: BytesStream,
    left_bytes: u64,
    /// The limit the caller knows.
    reported_bytes: u64,
    since_yield_bytes: usize,
}

// === impl Limited ===

impl Limited {
    fn new(stream: BytesStream, limit_bytes: u64, reported_bytes: u64) -> Self {
        Self { stream, left_bytes: limit_bytes, reported_bytes, since_yield_bytes: 0 }
    }
}

impl Stream for Limited {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.since_yield_bytes >= YIELD_AFTER_BYTES {
            self.since_yield_bytes = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let item = match self.stream.poll_next_unpin(context) {
            Poll::Ready(item) => item,
            Poll::Pending => {
                self.since_yield_bytes = 0;
                return Poll::Pending;
            }
        };
        let Some(Ok(bytes)) = item else { return Poll::Ready(item) };
        let Some(left_bytes) = self.left_bytes.checked_sub(bytes.len() as u64) else {
            return Poll::Ready(Some(Err(Error::ResponseTooLarge { limit_bytes: self.reported_bytes })));
        };
        self.left_bytes = left_bytes;
        self.since_yield_bytes += bytes.len();
        Poll::Ready(Some(Ok(bytes)))
    }
}

fn read_error(origin: &Origin, error: hyper::Error) -> Error {
    // The request body may still be on its way while the response is read.
    if let Some(error) = origin.body_error.get() {
        return error.clone();
    }
    Error::Protocol { host: origin.host.clone(), cause: Cause::new(error) }
}

#[cfg(test)]
mod tests;
