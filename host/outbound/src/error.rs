//! Everything that can go wrong with an outgoing request.
//!
//! Messages are complete sentences for the author of a component or the operator: they say what
//! happened and, where that helps, what to do. They hold the cause's text already, so they are
//! shown alone. `code()` is stable and is what programs match on.

use std::{error::Error as StdError, fmt, net::IpAddr, sync::Arc, time::Duration};

use admission::Full;
use http::StatusCode;

use crate::{filter::Refusal, policy::Denied};

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is not a URL that can be requested: {fault}")]
    InvalidUrl { url: String, fault: UrlFault },
    #[error("{method:?} is not a method that can be sent; use GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS")]
    InvalidMethod { method: String },
    #[error("header {name:?} cannot be sent: {fault}")]
    InvalidHeader { name: String, fault: HeaderFault },
    #[error("{} {refusal}; start with --dangerous-allow-private-networks to allow it", Named { host, address })]
    RefusedAddress { host: String, address: IpAddr, refusal: Refusal },
    #[error("{host} is {denied}; the operator's egress policy decides")]
    RefusedByPolicy { host: String, denied: Denied },
    #[error("port {port} belongs to another protocol than HTTP; use another port")]
    RefusedPort { port: u16 },
    #[error("{host} could not be resolved: {cause}; check the name and this machine's DNS")]
    DnsFailure { host: String, cause: Cause },
    #[error("{host} has no address; check the name")]
    NoAddress { host: String },
    #[error("could not connect to {host}: {cause}; check that the service is up and the port is right")]
    ConnectFailed { host: String, cause: Cause },
    #[error(
        "the TLS handshake with {host} failed: {cause}; a private certificate authority must be \
         in the system's trust store or in the file named by SSL_CERT_FILE"
    )]
    TlsFailed { host: String, cause: Cause },
    #[error("{0}")]
    Full(Full),
    #[error("{phase} took longer than {after:?}; try again or raise the timeout")]
    Timeout { phase: Phase, after: Duration },
    #[error("the response is larger than {limit_bytes} bytes; ask for less, page by page, or raise max_response_bytes")]
    ResponseTooLarge { limit_bytes: u64 },
    #[error("the request body is larger than {limit_bytes} bytes; send less or raise max_request_bytes")]
    RequestTooLarge { limit_bytes: u64 },
    #[error("the headers are more than 256 or larger than {limit_bytes} bytes; send fewer or raise max_header_bytes")]
    HeadersTooLarge { limit_bytes: usize },
    #[error("gave up after {limit} redirects; the server may be redirecting in a circle")]
    TooManyRedirects { limit: u32 },
    #[error("the server redirects ({status}) and the request forbids it; use redirect \"follow\" or \"manual\"")]
    RedirectRefused { status: StatusCode },
    #[error("the server redirects ({status}) but the streamed body is already spent; send the body whole")]
    BodyNotReplayable { status: StatusCode },
    #[error("the {coding} response could not be decoded: {cause}")]
    DecodeFailed { coding: &'static str, cause: Cause },
    #[error("the request body broke off: {cause}")]
    RequestBodyFailed { cause: Cause },
    #[error("{host} did not answer in proper HTTP: {cause}")]
    Protocol { host: String, cause: Cause },
    #[error("{url} answered {status}, not 200")]
    UnexpectedStatus { url: String, status: StatusCode },
    #[error("the outgoing client has been shut down")]
    ShutDown,
    #[error("a certificate given as an extra root is not usable: {cause}")]
    InvalidRoot { cause: Cause },
    #[error("TLS could not be set up: {cause}")]
    TlsSetup { cause: Cause },
}

/// What is wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    #[error("{0}")]
    Syntax(#[from] url::ParseError),
    #[error("only http and https are possible, not {scheme}")]
    Scheme { scheme: String },
    #[error("it is longer than 65534 bytes or holds characters that HTTP does not allow")]
    NotSendable,
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("the name may hold letters, digits and !#$%&'*+-.^_`|~ only")]
    Name,
    #[error("the value holds a control character such as a line break")]
    Value,
    #[error("it names another host than the URL; change the URL instead")]
    ForeignHost,
}

/// What was under way when time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Connect,
    Response,
    Body,
}

/// The reason below an error, shown with all its own reasons.
#[derive(Clone)]
pub struct Cause(Arc<dyn StdError + Send + Sync>);

// === impl Error ===

impl Error {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidUrl { .. } => "invalid_url",
            Self::InvalidMethod { .. } => "invalid_method",
            Self::InvalidHeader { .. } => "invalid_header",
            Self::RefusedAddress { .. } => "refused_address",
            Self::RefusedPort { .. } => "refused_port",
            Self::RefusedByPolicy { .. } => "refused_by_policy",
            Self::DnsFailure { .. } | Self::NoAddress { .. } => "dns_failure",
            Self::ConnectFailed { .. } => "connect_failed",
            Self::TlsFailed { .. } => "tls_failed",
            Self::Full(Full { what: "lookups", .. }) => "too_many_lookups",
            Self::Full(_) => "too_many_connections",
            Self::Timeout { .. } => "timeout",
            Self::ResponseTooLarge { .. } | Self::RequestTooLarge { .. } | Self::HeadersTooLarge { .. } => "too_large",
            Self::TooManyRedirects { .. } => "too_many_redirects",
            Self::RedirectRefused { .. } => "redirect_refused",
            Self::BodyNotReplayable { .. } => "body_not_replayable",
            Self::DecodeFailed { .. } => "decode_failed",
            Self::RequestBodyFailed { .. } => "request_body_failed",
            Self::Protocol { .. } => "protocol_error",
            Self::UnexpectedStatus { .. } => "unexpected_status",
            Self::ShutDown => "shut_down",
            Self::InvalidRoot { .. } | Self::TlsSetup { .. } => "invalid_configuration",
        }
    }

    /// Our own error out of the layers that hyper puts around it.
    pub(crate) fn find_in<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        chain(error).find_map(|error| error.downcast_ref())
    }
}

// === impl Phase ===

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "connecting",
            Self::Response => "the answer",
            Self::Body => "the response body",
        })
    }
}

// === impl Cause ===

impl Cause {
    pub(crate) fn new(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, error) in chain(self.0.as_ref()).enumerate() {
            let separator = if depth == 0 { "" } else { ": " };
            write!(formatter, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// `10.0.0.1 is`, or `internal.example.com resolves to`. The address that a name resolved to is not told: it would map
/// the operator's network. The log has it.
struct Named<'a> {
    host: &'a str,
    address: &'a IpAddr,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_literal = self.host.trim_matches(['[', ']']).parse() == Ok(*self.address);
        if is_literal {
            return write!(formatter, "{} is", self.address);
        }
        write!(formatter, "{} resolves to", self.host)
    }
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
