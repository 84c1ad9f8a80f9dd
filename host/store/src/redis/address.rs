//! The address of the store: one server, a service that Sentinels watch, or a cluster.
//!
//! | scheme | what follows |
//! |---|---|
//! | `redis://`, `rediss://` | `[user:password@]host[:port][/db]` |
//! | `redis+sentinel://`, `rediss+sentinel://` | `[user:password@]host[:port],…/service[/db]`: the places of the Sentinels |
//! | `redis+cluster://`, `rediss+cluster://` | `[user:password@]host[:port],…`: some of the nodes |
//!
//! `valkey` may stand for `redis`. `rediss` is TLS. User and password are those of the servers that hold the data.

use ::redis::io::tcp::TcpSettings;
use ::redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates,
};

use crate::{Error, Tls};

const SENTINEL_PORT: u16 = 26379;
const PORT: u16 = 6379;

/// What is connected to, and how.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) kind: Kind,
    tls: Tls,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Single(Box<ConnectionInfo>),
    /// `server` is how the watched server is connected to, once its place is known.
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        service: String,
        server: Box<ConnectionInfo>,
    },
    Cluster(Vec<ConnectionInfo>),
}

// === impl Address ===

impl Address {
    pub(super) fn parse(text: &str, tls: &Tls) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").ok_or(Error::Address(None))?;
        let scheme = scheme.replacen("valkey", "redis", 1);
        let (base, form) = scheme.split_once('+').unwrap_or((scheme.as_str(), ""));
        if !matches!(base, "redis" | "rediss") || rest.is_empty() {
            return Err(Error::Address(None));
        }
        let (credentials, places) = match rest.rsplit_once('@') {
            Some((credentials, places)) => (format!("{credentials}@"), places),
            None => (String::new(), rest),
        };
        let node = |place: &str| info(&format!("{base}://{credentials}{place}"));
        let kind = match form {
            "" => Kind::Single(Box::new(info(&format!("{base}://{rest}"))?)),
            "cluster" => {
                let places = places.trim_end_matches('/').split(',');
                Kind::Cluster(places.map(node).collect::<Result<_, _>>()?)
            }
            "sentinel" => {
                let (places, path) = places.split_once('/').ok_or(Error::Address(None))?;
                let (service, database) = path.split_once('/').unwrap_or((path, "0"));
                if service.is_empty() {
                    return Err(Error::Address(None));
                }
                // Sentinels have no databases, and users of their own: by default none.
                let sentinel = |place: &str| info(&with_port(&format!("{base}://{place}"), SENTINEL_PORT));
                Kind::Sentinel {
                    sentinels: places.split(',').map(sentinel).collect::<Result<_, _>>()?,
                    service: service.to_owned(),
                    server: Box::new(node(&format!("unknown:{PORT}/{database}"))?),
                }
            }
            _ => return Err(Error::Address(None)),
        };
        let address = Self { kind, tls: tls.clone() };
        address.check()?;
        Ok(address)
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.kind, Kind::Cluster(_))
    }

    pub(super) fn client(&self, info: ConnectionInfo) -> Result<Client, Error> {
        let Some(certificates) = certificates(&self.tls) else { return Ok(Client::open(info)?) };
        Ok(Client::build_with_tls(info, certificates)?)
    }

    /// Certificates say that TLS is expected: without it they would protect nothing.
    fn check(&self) -> Result<(), Error> {
        let (Kind::Single(first) | Kind::Sentinel { server: first, .. }) = &self.kind else { return Ok(()) };
        let is_plain = !matches!(first.addr(), ConnectionAddr::TcpTls { .. });
        if is_plain && certificates(&self.tls).is_some() {
            return Err(Error::PlainAddress);
        }
        Ok(())
    }
}

/// The same server at another place: what a cluster or a Sentinel tells.
pub(super) fn at(info: &ConnectionInfo, host: &str, port: u16) -> ConnectionInfo {
    let host = host.to_owned();
    let address = match info.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    info.clone().set_addr(address)
}

/// `host:port`, as the nodes of a cluster name each other.
pub(super) fn place(info: &ConnectionInfo) -> String {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => format!("{host}:{port}"),
        other => other.to_string(),
    }
}

fn with_port(url: &str, port: u16) -> String {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { url.to_owned() } else { format!("{url}:{port}") }
}

/// The third protocol version, because messages of other hosts arrive on the same connection. Calls follow each other
/// before the first is answered: with Nagle's algorithm the second would wait for an acknowledgement.
fn info(url: &str) -> Result<ConnectionInfo, Error> {
    let info = url.into_connection_info().map_err(|source| Error::Address(Some(source)))?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings).set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

fn certificates(tls: &Tls) -> Option<TlsCertificates> {
    if tls.ca.is_none() && tls.client.is_none() {
        return None;
    }
    let client_tls = tls.client.clone().map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
    Some(TlsCertificates { client_tls, root_cert: tls.ca.clone() })
}

#[cfg(test)]
mod tests;
