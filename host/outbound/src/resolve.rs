//! Names to addresses. Resolving is a seam, so that tests can answer what an attacker would answer.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
};

use admission::Permit;
use async_trait::async_trait;
use tokio::task::spawn_blocking;

/// Gives all addresses of a name, best first.
///
/// Implementers answer from DNS or the like and judge nothing: the caller checks each address and
/// connects to no other. They need no timeout, and must stand being dropped at any await. They hold the place for as long
/// as the lookup takes anything up, also when the caller has given up.
#[async_trait]
pub trait Resolve: Send + Sync {
    async fn resolve(&self, host: &str, place: Permit) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system (`/etc/hosts`, `resolv.conf`).
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str, place: Permit) -> io::Result<Vec<IpAddr>> {
        let host = host.to_owned();
        spawn_blocking(move || {
            // Held by the thread, not by the future: a caller that gave up does not free the thread.
            let _place = place;
            let addresses = (host.as_str(), 0).to_socket_addrs()?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
        .await
        .map_err(io::Error::other)?
    }
}
