//! The operator's egress policy: whom tenants may connect to, beyond what [`filter`](crate::filter) refuses to all.
//!
//! A rule is `[TENANT@]TARGET[:PORT]`, where the target is a host (`api.example.com`), all hosts below a name
//! (`*.example.com`), a network (`203.0.113.0/24`, `[2001:db8::/32]`) or everything (`*`). What a deny rule matches is
//! refused. When there are allow rules for a tenant, what none of them matches is refused as well. Neither lets through
//! what the filter refuses.
//!
//! Rules are asked when a connection is made, with the addresses that the name resolved to then: no answer of a name
//! server gets around a rule about networks. A rule about hosts is about the name that was asked for.

use std::{collections::BTreeSet, fmt, net::IpAddr, ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;
use url::Host;

/// What one `Outbound` may connect to.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// The server's own addresses and names: components that could call it would act from inside.
    pub own: Own,
}

/// What leads back to this server.
#[derive(Clone, Debug, Default)]
pub struct Own {
    pub addresses: BTreeSet<IpAddr>,
    /// In lower case; `*.` stands for every host below.
    pub hosts: Vec<HostPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    tenant: Option<String>,
    target: RuleTarget,
    ports: Option<RangeInclusive<u16>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleTarget {
    Any,
    Host(HostPattern),
    Network(IpNet),
}

/// A host name, or every host below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    name: String,
    is_below: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an egress rule; write [TENANT@]TARGET[:PORT] with a host, *.host, a network or * as the target"
)]
pub struct RuleError {
    text: String,
}

/// Which kind of rule refuses a connection. It is told to tenants, so it names neither the rule nor an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    Host,
    Network,
    Port,
    NotAllowed,
    Own,
}

/// A connection that is about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) host: &'a Host,
    pub(crate) port: u16,
}

// === impl Policy ===

impl Policy {
    /// What the name and the port tell before anything is resolved.
    pub(crate) fn check_name(&self, wanted: Wanted<'_>) -> Result<(), Denied> {
        let is_named = |rule: &&Rule| match &rule.target {
            RuleTarget::Any => true,
            RuleTarget::Host(pattern) => pattern.matches(wanted.host),
            RuleTarget::Network(network) => literal(wanted.host).is_some_and(|address| contains(network, address)),
        };
        let denied = self.deny.iter().filter(|rule| rule.is_for(wanted)).find(is_named);
        denied.map_or(Ok(()), |rule| Err(rule.kind()))
    }

    /// What the addresses tell. All of them must pass: which one is connected to is not decided here.
    pub(crate) fn check_addresses(&self, wanted: Wanted<'_>, addresses: &[IpAddr]) -> Result<(), Denied> {
        self.check_name(wanted)?;
        let denies = |address: &IpAddr| {
            let rules = self.deny.iter().filter(|rule| rule.is_for(wanted));
            rules.filter_map(Rule::network).any(|network| contains(network, *address))
        };
        if addresses.iter().any(denies) {
            return Err(Denied::Network);
        }
        self.check_allowed(wanted, addresses)
    }

    /// Refuses this server itself.
    pub(crate) fn check_own(&self, wanted: Wanted<'_>, addresses: &[IpAddr]) -> Result<(), Denied> {
        let is_own_host = self.own.hosts.iter().any(|pattern| pattern.matches(wanted.host));
        let is_own = addresses.iter().any(|address| self.own.addresses.contains(&address.to_canonical()));
        if is_own_host || is_own { Err(Denied::Own) } else { Ok(()) }
    }

    fn check_allowed(&self, wanted: Wanted<'_>, addresses: &[IpAddr]) -> Result<(), Denied> {
        let mut own = self.allow.iter().filter(|rule| rule.is_of(wanted.tenant)).peekable();
        if own.peek().is_none() {
            return Ok(());
        }
        let fitting: Vec<&Rule> = own.filter(|rule| rule.has_port(wanted.port)).collect();
        let by_name = fitting.iter().any(|rule| match &rule.target {
            RuleTarget::Any => true,
            RuleTarget::Host(pattern) => pattern.matches(wanted.host),
            RuleTarget::Network(_) => false,
        });
        let in_network = |address: &IpAddr| {
            fitting.iter().filter_map(|rule| rule.network()).any(|network| contains(network, *address))
        };
        let is_allowed = by_name || (!addresses.is_empty() && addresses.iter().all(in_network));
        if is_allowed { Ok(()) } else { Err(Denied::NotAllowed) }
    }
}

// === impl Rule ===

impl Rule {
    fn is_of(&self, tenant: &str) -> bool {
        self.tenant.as_deref().is_none_or(|only| only == tenant)
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
    }

    fn is_for(&self, wanted: Wanted<'_>) -> bool {
        self.is_of(wanted.tenant) && self.has_port(wanted.port)
    }

    fn network(&self) -> Option<&IpNet> {
        match &self.target {
            RuleTarget::Network(network) => Some(network),
            _ => None,
        }
    }

    fn kind(&self) -> Denied {
        match self.target {
            RuleTarget::Host(_) => Denied::Host,
            RuleTarget::Network(_) => Denied::Network,
            RuleTarget::Any if self.ports.is_some() => Denied::Port,
            RuleTarget::Any => Denied::NotAllowed,
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let invalid = || RuleError { text: text.chars().take(200).collect() };
        let (tenant, rest) = match text.split_once('@') {
            Some(("", _)) => return Err(invalid()),
            Some((tenant, rest)) => (Some(tenant.to_owned()), rest),
            None => (None, text),
        };
        let (target, port) = split_port(rest).ok_or_else(invalid)?;
        let ports = match port {
            Some(port) => Some(parse_ports(port).ok_or_else(invalid)?),
            None => None,
        };
        Ok(Self { tenant, target: parse_target(target).ok_or_else(invalid)?, ports })
    }
}

// === impl HostPattern ===

impl HostPattern {
    /// `example.com` or `*.example.com`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, is_below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        match Host::parse(name) {
            Ok(Host::Domain(name)) if !name.contains('*') => {
                Some(Self { name: name.trim_end_matches('.').to_owned(), is_below })
            }
            _ => None,
        }
    }

    fn matches(&self, host: &Host) -> bool {
        let Host::Domain(host) = host else {
            return false;
        };
        let host = host.trim_end_matches('.');
        match self.is_below {
            true => host.strip_suffix(self.name.as_str()).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            false => host == self.name,
        }
    }
}

// === impl Denied ===

impl fmt::Display for Denied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Host => "denied by a rule about hosts",
            Self::Network => "denied by a rule about networks",
            Self::Port => "denied by a rule about ports",
            Self::NotAllowed => "not among what is allowed",
            Self::Own => "this server itself",
        })
    }
}

/// The target and, after it, the port: `host:443`, `[2001:db8::/32]:443`, `10.0.0.0/8`.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (target, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((target, Some(port))),
            None => after.is_empty().then_some((target, None)),
        };
    }
    Some(text.split_once(':').map_or((text, None), |(target, port)| (target, Some(port))))
}

/// `443` or `8000-8999`.
fn parse_ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..=last)
}

fn parse_target(text: &str) -> Option<RuleTarget> {
    if text == "*" {
        return Some(RuleTarget::Any);
    }
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    match network {
        Some(network) => Some(RuleTarget::Network(network)),
        None => HostPattern::parse(text).map(RuleTarget::Host),
    }
}

fn literal(host: &Host) -> Option<IpAddr> {
    match host {
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        Host::Domain(_) => None,
    }
}

/// An IPv4 address is judged as such however it is written.
fn contains(network: &IpNet, address: IpAddr) -> bool {
    network.contains(&address) || network.contains(&address.to_canonical())
}

#[cfg(test)]
mod tests;
