//! The address of the client: the peer, or what a trusted proxy names.
//!
//! `X-Forwarded-For` is text that any client can send. It is trusted only as far as the operator's own proxies wrote it: from
//! its end backwards, over the addresses that are such proxies, to the first that is not.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// One address, or a network such as `10.0.0.0/8`, that proxies of the operator have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trusted proxy is an address or a network, such as 10.0.0.1 or 10.0.0.0/8")]
pub struct ProxyError;

pub(crate) fn client_ip(peer: IpAddr, headers: &HeaderMap, trusted: &[TrustedProxy]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|proxy| proxy.0.contains(&address));
    let mut client = peer.to_canonical();
    // Several headers are one list, in their order.
    let lists: Vec<&str> = headers.get_all(X_FORWARDED_FOR).iter().map(|list| list.to_str().unwrap_or("?")).collect();
    for named in lists.iter().rev().flat_map(|list| list.rsplit(',')) {
        if !is_trusted(client) {
            break;
        }
        // A proxy that writes something else than an address is the last one that is known.
        let Some(address) = parse_address(named.trim()) else {
            break;
        };
        client = address;
    }
    client
}

/// Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
fn parse_address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok().or_else(|| Some(text.parse::<std::net::SocketAddr>().ok()?.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

// === impl TrustedProxy ===

impl FromStr for TrustedProxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Self, ProxyError> {
        let network = text.parse::<IpNet>().ok();
        let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        network.map(Self).ok_or(ProxyError)
    }
}

#[cfg(test)]
mod tests;
