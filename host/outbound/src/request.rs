//! A request as the caller gives it: parsed and checked.

use std::{
    error::Error as StdError,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http::Method;
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use url::Url;

use crate::error::{Cause, Error, UrlFault};

/// One request. Limits left `None` are those of the `Config`; a caller may set them higher or lower.
/// The time to connect is not among them, because a connection serves many requests.
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// In the order given, duplicates allowed. What belongs to the connection (`Connection`,
    /// `Content-Length`, `Transfer-Encoding` …) is left out; `Host` must agree with the URL.
    pub headers: Vec<(String, Bytes)>,
    pub body: Body,
    pub redirect: Redirect,
    /// Decode gzip, deflate and br, and ask for them unless the caller set `Accept-Encoding`.
    pub decompress: bool,
    pub total_timeout: Option<Duration>,
    pub max_response_bytes: Option<u64>,
    pub max_request_bytes: Option<u64>,
    /// Headers that do not reach another origin, beside those that never do: keys that a service takes in a header of its
    /// own.
    pub confidential: Vec<String>,
}

/// As the fetch standard names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    Follow,
    Manual,
    Error,
}

/// Empty, whole, or streamed. A whole body has a `Content-Length` and can be sent again after a
/// redirect; a streamed one has neither.
pub struct Body(Content);

enum Content {
    Empty,
    Whole(Bytes),
    Stream(BodyStream),
    /// A stream that has been sent.
    Spent,
}

type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;
type BoxError = Box<dyn StdError + Send + Sync>;

/// Of a URL in a message.
const MAX_SHOWN_CHARACTERS: usize = 200;

/// The body as hyper takes it.
pub(crate) type Payload = UnsyncBoxBody<Bytes, Error>;

/// Why a streamed body broke off. hyper keeps the reason on some paths and loses it on others (HTTP/2,
/// an answer that came early), so it is noted here.
pub(crate) type BodyError = Arc<OnceLock<Error>>;

// === impl Request ===

impl Request {
    /// Follows redirects and decodes, as `fetch` does.
    pub fn new(method: &str, url: &str) -> Result<Self, Error> {
        Ok(Self {
            method: parse_method(method)?,
            url: parse_url(url, None)?,
            headers: Vec::new(),
            body: Body::empty(),
            redirect: Redirect::Follow,
            decompress: true,
            total_timeout: None,
            max_response_bytes: None,
            max_request_bytes: None,
            confidential: Vec::new(),
        })
    }

    pub fn get(url: &str) -> Result<Self, Error> {
        Self::new("GET", url)
    }

    pub fn header(mut self, name: &str, value: impl Into<Bytes>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

// === impl Body ===

impl Body {
    pub fn empty() -> Self {
        Self(Content::Empty)
    }

    /// Pieces are asked for as the connection takes them. An error breaks the request off.
    pub fn stream<S, E>(stream: S) -> Self
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        Self(Content::Stream(Box::pin(stream.map(|item| item.map_err(Into::into)))))
    }

    pub(crate) fn is_spent(&self) -> bool {
        matches!(self.0, Content::Spent)
    }

    /// The payload of one hop. A stream is handed over and cannot be sent again.
    pub(crate) fn payload(&mut self, limit_bytes: u64, body_error: &BodyError) -> Result<Payload, Error> {
        match std::mem::replace(&mut self.0, Content::Spent) {
            Content::Stream(stream) => {
                let body_error = Arc::clone(body_error);
                let note = move |error: &Error| drop(body_error.set(error.clone()));
                let frames = limit_stream(stream, limit_bytes).inspect_err(note).map_ok(Frame::data);
                Ok(StreamBody::new(frames).boxed_unsync())
            }
            Content::Whole(bytes) if bytes.len() as u64 > limit_bytes => Err(Error::RequestTooLarge { limit_bytes }),
            Content::Whole(bytes) => {
                self.0 = Content::Whole(bytes.clone());
                Ok(Full::new(bytes).map_err(|never| match never {}).boxed_unsync())
            }
            Content::Empty | Content::Spent => {
                self.0 = Content::Empty;
                Ok(Empty::new().map_err(|never| match never {}).boxed_unsync())
            }
        }
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Self {
        Self(Content::Whole(bytes.into()))
    }
}

/// Also used for the `Location` of a redirect, which may be relative to `base`.
pub(crate) fn parse_url(text: &str, base: Option<&Url>) -> Result<Url, Error> {
    let invalid = |fault| Error::InvalidUrl { url: without_secrets(text), fault };
    let url = Url::options().base_url(base).parse(text).map_err(|error| invalid(error.into()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid(UrlFault::Scheme { scheme: url.scheme().to_owned() }));
    }
    Ok(url)
}

/// For messages, which may be logged: no user and password, no query, no more than a line. For text
/// that may not be a URL at all, so it cuts generously.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let shown: String = match (text.split_once(':'), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        _ => text.to_owned(),
    };
    shown.chars().take(MAX_SHOWN_CHARACTERS).collect()
}

/// The fetch standard writes the six common methods in capitals and forbids those that make a proxy
/// open a tunnel or echo credentials.
fn parse_method(text: &str) -> Result<Method, Error> {
    let upper = text.to_ascii_uppercase();
    let invalid = || Error::InvalidMethod { method: text.to_owned() };
    match upper.as_str() {
        "CONNECT" | "TRACE" | "TRACK" => Err(invalid()),
        "DELETE" | "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" => {
            Method::from_bytes(upper.as_bytes()).map_err(|_| invalid())
        }
        _ => Method::from_bytes(text.as_bytes()).map_err(|_| invalid()),
    }
}

fn limit_stream(stream: BodyStream, limit_bytes: u64) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    let mut sent_bytes: u64 = 0;
    stream.map(move |item| {
        let bytes = item.map_err(|error| Error::RequestBodyFailed { cause: Cause::new(error) })?;
        sent_bytes = sent_bytes.saturating_add(bytes.len() as u64);
        if sent_bytes > limit_bytes {
            return Err(Error::RequestTooLarge { limit_bytes });
        }
        Ok(bytes)
    })
}

#[cfg(test)]
mod tests;
