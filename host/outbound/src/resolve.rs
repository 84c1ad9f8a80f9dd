//! Names to addresses. Resolving is a seam, so that tests can answer what an attacker would answer.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Lookups at a time. The system's resolver blocks a thread for each, and tokio has 512 of them for
/// everybody: slow names must not take them all.
const MAX_CONCURRENT_LOOKUPS: usize = 64;

/// Gives all addresses of a name, best first.
///
/// Implementers answer from DNS or the like and judge nothing: the caller checks each address and
/// connects to no other. They need no timeout, and must stand being dropped at any await.
#[async_trait]
pub trait Resolve: Send + Sync {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system (`/etc/hosts`, `resolv.conf`).
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

// === impl SystemResolver ===

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        spawn_blocking(move || {
            // Held by the thread, not by the future: a caller who gave up does not free the thread.
            let _permit = permit;
            let addresses = (host.as_str(), 0).to_socket_addrs()?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
        .await
        .map_err(io::Error::other)?
    }
}
