//! Opens connections, and is the only place that does: resolve once, check every address, connect to
//! a checked address, then TLS.
//!
//! The order is the protection. The name is never handed to anything that would resolve it again,
//! and hyper calls this for each new connection, so also for each redirect to another host.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use admission::{Bounds, Full, Gate, Permit, Scope, Share};
use async_trait::async_trait;
use http::{Uri, uri::Scheme};
use hyper_util::rt::TokioIo;
use metrics::Family;
use rustls::ClientConfig;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;
use tower_service::Service;
use url::{Host, Url};

use crate::{
    config::{Config, HostOverride, LONGEST_TIMEOUT},
    error::{Cause, Error, Phase, UrlFault},
    filter,
    link::Link,
    policy::{Denied, Policy, Wanted},
    resolve::Resolve,
    tls,
};

/// Requests that wait for a connection or a lookup; they wait no longer than a connection may take.
const WAITING: Share = Share::new(4096, 512);

/// Addresses tried of one answer. All of them are checked, however many there are.
const MAX_ATTEMPTS: usize = 8;

/// Opens a TCP connection to exactly this address. A seam: tests stand in for the internet.
#[async_trait]
pub(crate) trait Dial: Send + Sync {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

pub(crate) struct TcpDial;

/// hyper's view: a URI in, a connection out, counted as one of its tenant's.
#[derive(Clone)]
pub(crate) struct Connector {
    egress: Arc<Egress>,
    tenant: Arc<str>,
}

/// What all connectors share: the policy, the bounds, the resolver and TLS.
pub(crate) struct Egress {
    allows_private_networks: bool,
    overrides: Vec<HostOverride>,
    policy: Policy,
    exempt_origins: Vec<(Host, u16)>,
    connect_timeout: Duration,
    connections: Gate,
    lookups: Gate,
    resolver: Arc<dyn Resolve>,
    dial: Arc<dyn Dial>,
    tls: Arc<ClientConfig>,
}

struct Target {
    host: Host,
    port: u16,
    has_tls: bool,
}

/// Refuses what the connection would refuse, as far as the URL itself tells.
pub(crate) fn check_written(config: &Config, tenant: &str, url: &Url) -> Result<(), Error> {
    let Some(host) = url.host().map(|host| host.to_owned()) else {
        return Ok(());
    };
    let wanted = Wanted { tenant, host: &host, port: url.port_or_known_default().unwrap_or_default() };
    let by_policy = |denied| Error::RefusedByPolicy { host: host.to_string(), denied };
    config.policy.check_name(wanted).map_err(by_policy)?;
    if HostOverride::find(&config.dangerous_host_overrides, &host).is_some() {
        return Ok(());
    }
    if !config.dangerous_allow_private_networks {
        config.policy.check_own(wanted, &[]).map_err(by_policy)?;
    }
    if let Some(port) = url.port_or_known_default().filter(|port| filter::is_refused_port(*port)) {
        return Err(Error::RefusedPort { port });
    }
    let address = match &host {
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address),
        Host::Domain(name) if filter::is_localhost(name) => Ipv4Addr::LOCALHOST.into(),
        Host::Domain(_) => return Ok(()),
    };
    if config.dangerous_allow_private_networks {
        return Ok(());
    }
    filter::check(address).map_err(|refusal| Error::RefusedAddress { host: host.to_string(), address, refusal })
}

// === impl Connector ===

impl Connector {
    pub(crate) fn new(egress: Arc<Egress>, tenant: Arc<str>) -> Self {
        Self { egress, tenant }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { egress, tenant } = self.clone();
        Box::pin(async move {
            let target = Target::parse(&uri)?;
            egress.open(&target, &tenant).await.map(TokioIo::new)
        })
    }
}

// === impl Egress ===

impl Egress {
    pub(crate) fn new(config: &Config, dial: Arc<dyn Dial>) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            allows_private_networks: config.dangerous_allow_private_networks,
            overrides: config.dangerous_host_overrides.clone(),
            policy: config.policy.clone(),
            exempt_origins: config.exempt_origins.clone(),
            connect_timeout: config.connect_timeout.min(LONGEST_TIMEOUT),
            connections: Gate::new("connections", Bounds { places: config.connections, waiting: WAITING }),
            lookups: Gate::new("lookups", Bounds { places: config.lookups, waiting: WAITING }),
            resolver: Arc::clone(&config.resolver),
            dial,
            tls: tls::client_config(&config.extra_roots)?,
        }))
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        [self.connections.families(), self.lookups.families()].concat()
    }

    /// Whose bound a tenant waits for.
    pub(crate) fn short_of(&self, tenant: &str) -> Scope {
        self.connections.short_of(tenant)
    }

    /// Whether the tenant could open a connection at once.
    pub(crate) fn has_room(&self, tenant: &str) -> bool {
        self.connections.has_room(tenant)
    }

    async fn open(&self, target: &Target, tenant: &str) -> Result<Link, Error> {
        let slot = self.enter(&self.connections, tenant).await?;
        timeout(self.connect_timeout, self.connect(target, tenant, slot))
            .await
            .unwrap_or_else(|_| Err(self.timed_out()))
    }

    fn timed_out(&self) -> Error {
        Error::Timeout { phase: Phase::Connect, after: self.connect_timeout }
    }

    /// A place at a gate, if there is one in the time a connection may take.
    async fn enter(&self, gate: &Gate, tenant: &str) -> Result<Permit, Error> {
        match timeout(self.connect_timeout, gate.enter(tenant)).await {
            Ok(entered) => entered.map_err(Error::Full),
            Err(_) => Err(Error::Full(Full { what: gate.what(), scope: gate.short_of(tenant) })),
        }
    }

    async fn connect(&self, target: &Target, tenant: &str, slot: Permit) -> Result<Link, Error> {
        if let Some(address) = HostOverride::find(&self.overrides, &target.host) {
            self.check_policy(target, tenant, &[address.ip()])?;
            let stream = self.connect_any(target, &[address]).await?;
            return Ok(Link::plain(stream, slot));
        }
        if filter::is_refused_port(target.port) {
            return Err(Error::RefusedPort { port: target.port });
        }
        // Before the name is looked up: a lookup tells something to the name's owner, too.
        self.check_named(target, tenant)?;
        let addresses = self.checked_addresses(target, tenant).await?;
        let stream = self.connect_any(target, &addresses).await?;
        if !target.has_tls {
            return Ok(Link::plain(stream, slot));
        }
        self.handshake(target, stream, slot).await
    }

    /// Refuses the whole answer when any address of it is refused: an honest public name has no
    /// private address, and a name that has one is being used to look for a way in.
    async fn checked_addresses(&self, target: &Target, tenant: &str) -> Result<Vec<SocketAddr>, Error> {
        let addresses = self.resolve(&target.host, tenant).await?;
        if addresses.is_empty() {
            return Err(Error::NoAddress { host: target.host.to_string() });
        }
        if self.filters(target) {
            for &address in &addresses {
                self.check(target, address)?;
            }
            let checked = self.policy.check_own(target.wanted(tenant), &addresses);
            checked.map_err(|denied| target.denied(denied, tenant, &addresses))?;
        }
        self.check_policy(target, tenant, &addresses)?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, target.port)).collect())
    }

    fn check(&self, target: &Target, address: IpAddr) -> Result<(), Error> {
        filter::check(address).map_err(|refusal| {
            tracing::info!(host = %target.host, %address, %refusal, "an outgoing connection was refused");
            Error::RefusedAddress { host: target.host.to_string(), address, refusal }
        })
    }

    fn filters(&self, target: &Target) -> bool {
        let is_exempt = || self.exempt_origins.iter().any(|(host, port)| *host == target.host && *port == target.port);
        !self.allows_private_networks && !is_exempt()
    }

    /// What can be refused by the name alone.
    fn check_named(&self, target: &Target, tenant: &str) -> Result<(), Error> {
        let wanted = target.wanted(tenant);
        let own = if self.filters(target) { self.policy.check_own(wanted, &[]) } else { Ok(()) };
        let checked = self.policy.check_name(wanted).and(own);
        checked.map_err(|denied| target.denied(denied, tenant, &[]))
    }

    fn check_policy(&self, target: &Target, tenant: &str, addresses: &[IpAddr]) -> Result<(), Error> {
        let checked = self.policy.check_addresses(target.wanted(tenant), addresses);
        checked.map_err(|denied| target.denied(denied, tenant, addresses))
    }

    async fn resolve(&self, host: &Host, tenant: &str) -> Result<Vec<IpAddr>, Error> {
        match host {
            Host::Ipv4(address) => Ok(vec![IpAddr::V4(*address)]),
            Host::Ipv6(address) => Ok(vec![IpAddr::V6(*address)]),
            Host::Domain(name) if filter::is_localhost(name) => {
                Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Host::Domain(name) => {
                let place = self.enter(&self.lookups, tenant).await?;
                let failed = |error| Error::DnsFailure { host: name.clone(), cause: Cause::new(error) };
                self.resolver.resolve(name, place).await.map_err(failed)
            }
        }
    }

    /// In the order of the answer. Each address gets an equal share of the time that is left, so one
    /// that swallows packets cannot use up the time of those behind it.
    #[expect(clippy::disallowed_methods, reason = "a deadline on the clock of the runtime")]
    async fn connect_any(&self, target: &Target, addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
        let deadline = Instant::now() + self.connect_timeout;
        let attempts = addresses.len().min(MAX_ATTEMPTS);
        let mut failure = io::Error::from(io::ErrorKind::TimedOut);
        for (attempt, &address) in addresses.iter().take(attempts).enumerate() {
            let left = u32::try_from(attempts - attempt).unwrap_or(1);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            match timeout(share, self.dial.dial(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
        }
        if failure.kind() == io::ErrorKind::TimedOut {
            return Err(self.timed_out());
        }
        Err(Error::ConnectFailed { host: target.to_string(), cause: Cause::new(failure) })
    }

    async fn handshake(&self, target: &Target, stream: TcpStream, slot: Permit) -> Result<Link, Error> {
        let failed = |error| Error::TlsFailed { host: target.to_string(), cause: Cause::new(error) };
        let name =
            tls::server_name(&target.host).ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))?;
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await.map_err(failed)?;
        Ok(Link::tls(stream, slot))
    }
}

// === impl Target ===

impl Target {
    /// Reads the host with the URL parser again, so that no spelling of an address is taken for a name.
    fn parse(uri: &Uri) -> Result<Self, Error> {
        let invalid = |error| Error::InvalidUrl { url: uri.to_string(), fault: UrlFault::Syntax(error) };
        let host = Host::parse(uri.host().unwrap_or_default()).map_err(invalid)?;
        let has_tls = uri.scheme() == Some(&Scheme::HTTPS);
        let port = uri.port_u16().unwrap_or(if has_tls { 443 } else { 80 });
        Ok(Self { host, port, has_tls })
    }
}

impl Target {
    fn wanted<'a>(&'a self, tenant: &'a str) -> Wanted<'a> {
        Wanted { tenant, host: &self.host, port: self.port }
    }

    /// The operator's log has the addresses; the tenant is told the kind of rule.
    fn denied(&self, denied: Denied, tenant: &str, addresses: &[IpAddr]) -> Error {
        tracing::info!(tenant, host = %self.host, port = self.port, ?addresses, ?denied, "an outgoing connection was denied");
        Error::RefusedByPolicy { host: self.host.to_string(), denied }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

// === impl TcpDial ===

#[async_trait]
impl Dial for TcpDial {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        // Requests are written whole; waiting for more would only add latency.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests;
