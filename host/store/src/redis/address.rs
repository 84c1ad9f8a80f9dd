//! The address of Redis: `redis://host:port/db` or `redis+cluster://host:port,host:port`.

use ::redis::io::tcp::TcpSettings;
use ::redis::{ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

use crate::Error;

const CLUSTER: &str = "redis+cluster://";

#[derive(Debug, Clone)]
pub(super) enum Address {
    Single(Box<ConnectionInfo>),
    Cluster(Vec<ConnectionInfo>),
}

impl Address {
    /// User and password come before the first node (`redis+cluster://user:password@a,b`) and hold for all.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let Some(rest) = text.strip_prefix(CLUSTER) else {
            return Ok(Self::Single(Box::new(node(text)?)));
        };
        let (credentials, nodes) = match rest.rsplit_once('@') {
            Some((credentials, nodes)) => (format!("{credentials}@"), nodes),
            None => (String::new(), rest),
        };
        let nodes = nodes.trim_end_matches('/').split(',');
        let nodes = nodes.map(|place| node(&format!("redis://{credentials}{place}")));
        Ok(Self::Cluster(nodes.collect::<Result<_, _>>()?))
    }
}

/// Calls follow each other before the first is answered: without this the second would wait for an acknowledgement.
pub(super) fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

/// The third protocol version, because messages of other hosts arrive on the same connection.
fn node(text: &str) -> Result<ConnectionInfo, Error> {
    let is_plain = text.starts_with("redis://") && text != "redis://";
    if !is_plain {
        return Err(Error::Address(None));
    }
    let info = text.into_connection_info().map_err(|source| Error::Address(Some(source)))?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings).set_tcp_settings(tcp()))
}

#[cfg(test)]
mod tests;
