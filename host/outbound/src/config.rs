//! Configuration of outgoing requests.

use std::{fmt, net::SocketAddr, str::FromStr, sync::Arc, time::Duration};

use admission::Share;
use url::Host;

use crate::{
    policy::Policy,
    resolve::{Resolve, SystemResolver},
    tls::CertificateDer,
};

/// What longer timeouts are cut to, so that no sum of times overflows.
pub(crate) const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The defaults are safe and need no set-up.
#[derive(Clone)]
pub struct Config {
    /// Turns the address filter off: components reach everything this machine reaches.
    pub dangerous_allow_private_networks: bool,
    /// The first that names the host wins; `*` counts only when no other does.
    pub dangerous_host_overrides: Vec<HostOverride>,
    /// Which tenant may connect to what, beyond the address filter.
    pub policy: Policy,
    /// Origins to which the address filter does not apply: hosts, each with its port.
    pub exempt_origins: Vec<(Host, u16)>,
    /// For resolving, connecting and the TLS handshake of one connection together.
    pub connect_timeout: Duration,
    /// From the call of `send` to the last byte of the body, redirects included.
    pub total_timeout: Duration,
    /// How long an unused connection is kept open.
    pub idle_timeout: Duration,
    /// Counts bytes after decoding.
    pub max_response_bytes: u64,
    pub max_request_bytes: u64,
    /// For the headers of a request and of a response, each.
    pub max_header_bytes: usize,
    pub max_redirects: u32,
    /// Open at a time, unused ones that are kept open among them.
    pub connections: Share,
    /// Names being looked up at a time. The system's resolver blocks a thread for each, and tokio has 512 of them for
    /// all purposes: slow names must not take them all.
    pub lookups: Share,
    pub user_agent: String,
    /// Trusted beside the system's certificate authorities.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub resolver: Arc<dyn Resolve>,
}

/// `api.example.com=127.0.0.1:9001`, or `*=127.0.0.1:9001` for every host: requests go to that
/// address in plain HTTP, also those for https URLs, with the Host header kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOverride {
    /// `None` stands for every host.
    host: Option<Host>,
    address: SocketAddr,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostOverrideError {
    #[error("{text:?} is not a host override; write HOST=ADDRESS:PORT, for example api.example.com=127.0.0.1:9001")]
    MissingAddress { text: String },
    #[error("{host:?} is not a host; write a name, an address or * for every host")]
    Host { host: String },
    #[error("{address:?} is not an address with a port; write it like 127.0.0.1:9001 or [::1]:9001")]
    Address { address: String },
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            dangerous_allow_private_networks: false,
            dangerous_host_overrides: Vec::new(),
            policy: Policy::default(),
            exempt_origins: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
            // Below the 60 s after which common load balancers close, so that they seldom race us.
            idle_timeout: Duration::from_secs(30),
            max_response_bytes: 16 << 20,
            max_request_bytes: 16 << 20,
            max_header_bytes: 64 << 10,
            // The number that the fetch standard fixes.
            max_redirects: 20,
            // Leaves room below the usual limit of open files for the store and incoming requests.
            connections: Share::new(512, 64),
            lookups: Share::new(64, 8),
            user_agent: concat!("wellspring/", env!("CARGO_PKG_VERSION")).to_owned(),
            extra_roots: Vec::new(),
            resolver: Arc::new(SystemResolver),
        }
    }
}

// === impl HostOverride ===

impl HostOverride {
    pub(crate) fn find(overrides: &[Self], host: &Host) -> Option<SocketAddr> {
        let host = without_trailing_dot(host.clone());
        let named = overrides.iter().find(|item| item.host.as_ref() == Some(&host));
        let any = || overrides.iter().find(|item| item.host.is_none());
        named.or_else(any).map(|item| item.address)
    }
}

impl FromStr for HostOverride {
    type Err = HostOverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, address) =
            text.split_once('=').ok_or_else(|| HostOverrideError::MissingAddress { text: text.to_owned() })?;
        let address = address.parse().map_err(|_| HostOverrideError::Address { address: address.to_owned() })?;
        if host == "*" {
            return Ok(Self { host: None, address });
        }
        let host = Host::parse(host).map_err(|_| HostOverrideError::Host { host: host.to_owned() })?;
        Ok(Self { host: Some(without_trailing_dot(host)), address })
    }
}

impl fmt::Display for HostOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(formatter, "{host}={}", self.address),
            None => write!(formatter, "*={}", self.address),
        }
    }
}

fn without_trailing_dot(host: Host) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(&name).to_owned()),
        address => address,
    }
}

#[cfg(test)]
mod tests;
