//! Redirects by the fetch standard ("HTTP-redirect fetch"). Pure: turns one hop into the next.

use http::{
    HeaderMap, HeaderName, Method, StatusCode,
    header::{
        AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, COOKIE, LOCATION,
        PROXY_AUTHORIZATION,
    },
};
use url::Url;

use crate::{
    error::Error,
    headers::take_credentials,
    request::{Body, BodyError, parse_url},
};

/// One request on the wire.
pub(crate) struct Hop {
    pub(crate) method: Method,
    /// Without credentials.
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) body_error: BodyError,
    /// Further headers that authenticate the caller.
    pub(crate) confidential: Vec<HeaderName>,
}

/// They authenticate the caller to one origin and must not reach another.
const CREDENTIALS: [HeaderName; 3] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION];

/// They describe a body and go when it goes.
const BODY_HEADERS: [HeaderName; 4] = [CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE];

/// Where the answer points to. `None` when it is no redirect.
pub(crate) fn location(status: StatusCode, headers: &HeaderMap, current: &Url) -> Result<Option<Url>, Error> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(value) = headers.get(LOCATION) else {
        return Ok(None);
    };
    let mut url = parse_url(&String::from_utf8_lossy(value.as_bytes()), Some(current))?;
    if url.fragment().is_none() {
        url.set_fragment(current.fragment());
    }
    Ok(Some(url))
}

// === impl Hop ===

impl Hop {
    pub(crate) fn advance(&mut self, status: StatusCode, target: Url) -> Result<(), Error> {
        if becomes_get(status, &self.method) {
            self.method = Method::GET;
            self.body = Body::empty();
            BODY_HEADERS.iter().for_each(|name| drop(self.headers.remove(name)));
        }
        if self.body.is_spent() {
            return Err(Error::BodyNotReplayable { status });
        }
        if target.origin() != self.url.origin() {
            CREDENTIALS.iter().chain(&self.confidential).for_each(|name| drop(self.headers.remove(name)));
        }
        self.url = target;
        take_credentials(&mut self.url, &mut self.headers, true);
        Ok(())
    }
}

fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        301 | 302 => method == Method::POST,
        303 => method != Method::GET && method != Method::HEAD,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
