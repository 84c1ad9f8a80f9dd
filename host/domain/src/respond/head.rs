//! The head of a component's answer as it may leave the server.
//!
//! The connection and the framing of messages on it are the server's, and an origin is shared by everything that answers
//! there. So what a component says about either is left out, whatever it says: a `content-length` of its own would let
//! the rest of its body be read as the answer to the next request on the connection.

/// Far more than answers have; the server's own headers come on top.
pub const HEADERS_MAXIMUM: usize = 64;
/// Names and values together. Proxies and clients take 8 to 64 KiB.
pub const HEADER_BYTES_MAXIMUM: usize = 32 * 1024;

/// Where browsers see an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Together with the API and with the endpoints of other sources.
    Shared,
    /// At a host name that no other endpoint has.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Lower-case names; one that comes several times is sent several times.
    pub headers: Vec<(String, String)>,
    /// Statuses such as 204 have none, and what was given is not sent.
    pub has_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("the source responded with status {status}, which is not a final one")]
    NotFinal { status: u16 },
    #[error("the source responded with {found} headers, at most {HEADERS_MAXIMUM} are sent")]
    TooManyHeaders { found: usize },
    #[error("the source responded with {found} bytes of headers, at most {HEADER_BYTES_MAXIMUM} are sent")]
    HeadersTooLarge { found: usize },
}

/// What is sent of the status and the headers that a component gave.
pub fn head(status: u16, given: Vec<(String, String)>, origin: Origin) -> Result<Head, HeadError> {
    // Informational responses announce another one, and none would follow.
    if !(200..=599).contains(&status) {
        return Err(HeadError::NotFinal { status });
    }
    check_size(&given)?;
    let nominated = nominated(&given);
    let mut headers = Vec::with_capacity(given.len() + 1);
    for (name, value) in given {
        let name = name.to_ascii_lowercase();
        let value = value.trim_matches([' ', '\t']);
        let is_sent = is_header_name(&name)
            && is_header_value(value)
            && !is_of_the_connection(&name)
            && !nominated.contains(&name)
            && is_allowed(&name, value, origin);
        if is_sent {
            headers.push((name, value.to_owned()));
        }
    }
    if origin == Origin::Shared {
        // Besides any policy of the component: a browser enforces all that it gets. A page without an origin can read
        // nothing of the API, nor of other endpoints.
        headers.push(("content-security-policy".to_owned(), "sandbox".to_owned()));
    }
    let has_body = !matches!(status, 204 | 205 | 304);
    Ok(Head { status, headers, has_body })
}

/// The grammar of a token in HTTP.
pub(crate) fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A line break would let a value grow further headers of its own.
pub(crate) fn is_header_value(value: &str) -> bool {
    value.chars().all(|character| character == '\t' || !character.is_control())
}

/// These describe the connection and the framing, which are the server's: components that copy another server's
/// headers send them along, and they would contradict what is really sent.
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "connection",
        "content-length",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    ];
    NAMES.contains(&name) || name.starts_with("proxy-")
}

fn check_size(given: &[(String, String)]) -> Result<(), HeadError> {
    let found = given.len();
    if found > HEADERS_MAXIMUM {
        return Err(HeadError::TooManyHeaders { found });
    }
    let found = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if found > HEADER_BYTES_MAXIMUM {
        return Err(HeadError::HeadersTooLarge { found });
    }
    Ok(())
}

/// Headers that `connection` declares to be of the connection (RFC 9110, 7.6.1).
fn nominated(given: &[(String, String)]) -> Vec<String> {
    let connections = given.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    connections.flat_map(|(_, value)| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn is_allowed(name: &str, value: &str, origin: Origin) -> bool {
    /// What a browser keeps for the whole origin, or takes as permission for it.
    const OF_THE_ORIGIN: [&str; 10] = [
        "accept-ch",
        "alt-svc",
        "nel",
        "public-key-pins",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
        "set-cookie",
        "set-cookie2",
        "strict-transport-security",
    ];
    match name {
        // The server's own, by which a request is found in the log.
        "x-request-id" => false,
        // Also clears the cookies of neighbouring hosts.
        "clear-site-data" => false,
        "set-cookie" if origin == Origin::Own => !has_domain(value),
        name => origin == Origin::Own || !OF_THE_ORIGIN.contains(&name),
    }
}

/// A cookie with a domain is sent to the hosts beside this one as well.
fn has_domain(cookie: &str) -> bool {
    let attributes = cookie.split(';').skip(1);
    attributes
        .filter_map(|attribute| attribute.split('=').next())
        .any(|name| name.trim().eq_ignore_ascii_case("domain"))
}

#[cfg(test)]
mod tests;
