//! Decides which addresses and ports a request may reach. Pure: no I/O, no configuration.
//!
//! A component is foreign code inside the operator's network, so it may talk to the public internet
//! and to nothing else. IPv4 lists what is refused (the IANA special-purpose registry). IPv6 is the
//! other way round: only global unicast (2000::/3) passes, less the ranges inside it that are not
//! the internet, so a range that is assigned later is refused.
//!
//! Addresses that carry an IPv4 address (mapped, NAT64) are judged by that address, because that is
//! where the packet ends up. Tunnels whose far end we cannot judge (6to4, Teredo) are refused.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Why an address is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    Unspecified,
    Loopback,
    Private,
    LinkLocal,
    /// A cloud provider's metadata or control service: it hands out the machine's credentials.
    Metadata,
    CarrierGradeNat,
    Documentation,
    Benchmarking,
    Multicast,
    Broadcast,
    /// An address that stands for an IPv4 destination behind a relay.
    Tunnel,
    Reserved,
}

/// Passes public addresses only.
pub fn check(address: IpAddr) -> Result<(), Refusal> {
    match address {
        IpAddr::V4(address) => check_v4(address),
        IpAddr::V6(address) => check_v6(address),
    }
}

/// Whether the name means this machine whatever a resolver says (RFC 6761, 6.3).
pub fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last_label = name.rsplit('.').next().unwrap_or(name);
    last_label.eq_ignore_ascii_case("localhost")
}

/// Whether the port belongs to a protocol that could be made to act on the text of an HTTP request,
/// mail above all. The list is the fetch standard's ("bad port"), which browsers and node follow.
pub fn is_refused_port(port: u16) -> bool {
    REFUSED_PORTS.contains(&port)
}

// === impl Refusal ===

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud metadata address",
            Self::CarrierGradeNat => "a carrier-grade NAT address",
            Self::Documentation => "a documentation address",
            Self::Benchmarking => "a benchmarking address",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Tunnel => "a tunnelled address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// First match wins, so single addresses stand before the range that holds them.
const REFUSED_V4: &[(Ipv4Addr, u32, Refusal)] = &[
    // The metadata service of most clouds; Azure's lies in public address space.
    (Ipv4Addr::new(169, 254, 169, 254), 32, Refusal::Metadata),
    (Ipv4Addr::new(100, 100, 100, 200), 32, Refusal::Metadata),
    (Ipv4Addr::new(168, 63, 129, 16), 32, Refusal::Metadata),
    (Ipv4Addr::new(0, 0, 0, 0), 8, Refusal::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Refusal::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Refusal::CarrierGradeNat),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Refusal::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Refusal::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Refusal::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Refusal::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Refusal::Documentation),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Refusal::Tunnel),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Refusal::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Refusal::Benchmarking),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Refusal::Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Refusal::Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Refusal::Multicast),
    (Ipv4Addr::new(255, 255, 255, 255), 32, Refusal::Broadcast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Refusal::Reserved),
];

/// First match wins. What matches nothing must still be global unicast.
const REFUSED_V6: &[(Ipv6Addr, u32, Refusal)] = &[
    (v6(0, 0, 0), 128, Refusal::Unspecified),
    (Ipv6Addr::LOCALHOST, 128, Refusal::Loopback),
    // IPv4-compatible: withdrawn, yet some stacks still route it to the IPv4 address.
    (v6(0, 0, 0), 96, Refusal::Tunnel),
    (v6(0x64, 0xff9b, 1), 48, Refusal::Tunnel),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, Refusal::Metadata),
    (v6(0xfc00, 0, 0), 7, Refusal::Private),
    (v6(0xfe80, 0, 0), 10, Refusal::LinkLocal),
    (v6(0xfec0, 0, 0), 10, Refusal::Private),
    (v6(0xff00, 0, 0), 8, Refusal::Multicast),
    (v6(0x2001, 0, 0), 32, Refusal::Tunnel),
    (v6(0x2001, 2, 0), 48, Refusal::Benchmarking),
    // IETF protocol assignments: ORCHID and the like.
    (v6(0x2001, 0, 0), 23, Refusal::Reserved),
    (v6(0x2001, 0xdb8, 0), 32, Refusal::Documentation),
    (v6(0x2002, 0, 0), 16, Refusal::Tunnel),
    (v6(0x3fff, 0, 0), 20, Refusal::Documentation),
];

#[rustfmt::skip]
const REFUSED_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
    530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
    4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

const fn v6(first: u16, second: u16, third: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0)
}

fn check_v4(address: Ipv4Addr) -> Result<(), Refusal> {
    for &(network, prefix, refusal) in REFUSED_V4 {
        if (u32::from(address) ^ u32::from(network)).leading_zeros() >= prefix {
            return Err(refusal);
        }
    }
    Ok(())
}

fn check_v6(address: Ipv6Addr) -> Result<(), Refusal> {
    if let Some(embedded) = embedded_v4(address) {
        return check_v4(embedded);
    }
    for &(network, prefix, refusal) in REFUSED_V6 {
        if (u128::from(address) ^ u128::from(network)).leading_zeros() >= prefix {
            return Err(refusal);
        }
    }
    if is_isatap(address) {
        return Err(Refusal::Tunnel);
    }
    let is_global_unicast = u128::from(address) >> 125 == 0b001;
    if is_global_unicast { Ok(()) } else { Err(Refusal::Reserved) }
}

/// The IPv4 destination of a mapped address (::ffff:0:0/96) or of well-known NAT64 (64:ff9b::/96).
/// NAT64 must pass for public addresses: on IPv6-only networks every IPv4 host looks like that.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        _ => None,
    }
}

/// ISATAP (RFC 5214) hides an IPv4 address in the interface identifier of any prefix.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [_, _, _, _, high, low, _, _] = address.segments();
    low == 0x5efe && (high == 0 || high == 0x0200)
}

#[cfg(test)]
mod tests;
