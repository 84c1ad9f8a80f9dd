//! A caller's headers, made safe to send.
//!
//! The framing of a message is hyper's business alone: a caller who could set `Content-Length` or
//! `Transfer-Encoding` could hide a second request in a body. Such headers are left out without a
//! word, as in `fetch`, because common libraries set them in good faith.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HOST, PROXY_AUTHORIZATION, USER_AGENT},
};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::error::{Error, HeaderFault};

/// They describe the connection or the framing, not the request.
const CONNECTION_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// In a request and in a response, each. Far above what is in use; hyper's 100 are too few for some
/// sites. A header map itself panics beyond some ten thousands.
pub(crate) const MAX_HEADERS: usize = 256;

/// Name, value, colon, space and line end.
const LINE_OVERHEAD_BYTES: usize = 4;

/// Parses the caller's headers, in order, and adds what every request has.
pub(crate) fn prepare(
    given: &[(String, Bytes)],
    url: &Url,
    user_agent: &HeaderValue,
    decompress: bool,
    limit_bytes: usize,
) -> Result<HeaderMap, Error> {
    let too_large = || Error::HeadersTooLarge { limit_bytes };
    if given.len() > MAX_HEADERS {
        return Err(too_large());
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let (name, value) = parse(name, value)?;
        if name == HOST {
            check_host(&value, url)?;
        } else if !CONNECTION_HEADERS.contains(&name.as_str()) {
            headers.try_append(name, value).map_err(|_| too_large())?;
        }
    }
    headers.entry(USER_AGENT).or_insert_with(|| user_agent.clone());
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    if decompress {
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip, deflate, br"));
    }
    check_size(&headers, limit_bytes)?;
    Ok(headers)
}

pub(crate) fn check_size(headers: &HeaderMap, limit_bytes: usize) -> Result<(), Error> {
    let line_bytes = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    let size_bytes: usize = headers.iter().map(|line| line_bytes(line) + LINE_OVERHEAD_BYTES).sum();
    if size_bytes > limit_bytes {
        return Err(Error::HeadersTooLarge { limit_bytes });
    }
    Ok(())
}

/// Whether the server takes the whole connection for the caller after this request, as NTLM and
/// Negotiate do. Such a connection must not be reused: the next request may be another tenant's.
pub(crate) fn authenticates_connection(headers: &HeaderMap) -> bool {
    let scheme =
        |value: &HeaderValue| value.as_bytes().split(|byte| *byte == b' ').next().map(<[u8]>::to_ascii_lowercase);
    let schemes = [AUTHORIZATION, PROXY_AUTHORIZATION].map(|name| headers.get(name).and_then(scheme));
    schemes.iter().flatten().any(|scheme| matches!(&scheme[..], b"ntlm" | b"negotiate"))
}

/// Moves `user:password@` out of the URL into `Authorization`, as node's `http` does. `has_priority`
/// tells whether it replaces a header that is there already.
pub(crate) fn take_credentials(url: &mut Url, headers: &mut HeaderMap, has_priority: bool) {
    if url.username().is_empty() && url.password().is_none() {
        return;
    }
    let mut pair = percent_decode_str(url.username()).collect::<Vec<u8>>();
    pair.push(b':');
    pair.extend(percent_decode_str(url.password().unwrap_or_default()));
    // Both fail only for URLs without a host, which http and https always have.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let Ok(value) = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))) else {
        return;
    };
    if has_priority || !headers.contains_key(AUTHORIZATION) {
        headers.insert(AUTHORIZATION, value);
    }
}

fn parse(name: &str, value: &Bytes) -> Result<(HeaderName, HeaderValue), Error> {
    let invalid = |fault| Error::InvalidHeader { name: name.to_owned(), fault };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid(HeaderFault::Name))?;
    // Checked before it is trimmed: trimming would also take line breaks off the ends.
    let value = HeaderValue::from_bytes(value)
        .and_then(|value| HeaderValue::from_bytes(value.as_bytes().trim_ascii()))
        .map_err(|_| invalid(HeaderFault::Value))?;
    Ok((parsed, value))
}

/// `Host` picks the site on a shared server. One that differs from the URL would let a component pass
/// through a name-based allow list in front of us, so it must be the URL's.
fn check_host(value: &HeaderValue, url: &Url) -> Result<(), Error> {
    let foreign = || Error::InvalidHeader { name: "host".to_owned(), fault: HeaderFault::ForeignHost };
    let given = value.to_str().map_err(|_| foreign())?;
    let given = Url::parse(&format!("{}://{given}/", url.scheme())).map_err(|_| foreign())?;
    if given.origin() != url.origin() || given.path() != "/" || !given.username().is_empty() {
        return Err(foreign());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
