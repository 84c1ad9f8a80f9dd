//! The addresses of this server, which components may not connect to: its interfaces, where it listens, its public URL.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};

use outbound::{HostPattern, Own, Url};

use crate::settings::Settings;

/// Found once, at the start. The host of the public URL is looked up then, because other names may lead to it too; when
/// that fails its name alone is refused.
pub(crate) fn find(settings: &Settings, public_url: &str) -> Own {
    let mut own = Own { addresses: interfaces(), hosts: Vec::new() };
    own.addresses.insert(settings.listen.ip());
    if let Some(url) = Url::parse(public_url).ok().filter(|url| url.has_host()) {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(443);
        let resolved = (host.trim_matches(['[', ']']), port).to_socket_addrs();
        own.addresses.extend(resolved.into_iter().flatten().map(|address| address.ip().to_canonical()));
        own.hosts.extend(HostPattern::parse(host));
    }
    if let Some(domain) = &settings.wildcard_domain {
        own.hosts.extend(HostPattern::parse(domain));
        own.hosts.extend(HostPattern::parse(&format!("*.{domain}")));
    }
    own
}

/// As the kernel lists them; none on a machine without these files.
fn interfaces() -> BTreeSet<IpAddr> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let v4 = local_v4(&text("/proc/net/fib_trie")).into_iter().map(IpAddr::V4);
    let v6 = local_v6(&text("/proc/net/if_inet6")).into_iter().map(IpAddr::V6);
    v4.chain(v6).collect()
}

/// `|-- 10.0.0.5` with `/32 host LOCAL` below it.
fn local_v4(text: &str) -> Vec<Ipv4Addr> {
    let mut found = Vec::new();
    let mut last: Option<Ipv4Addr> = None;
    for line in text.lines() {
        if let Some(address) = line.trim_start().strip_prefix("|-- ") {
            last = address.trim().parse().ok();
        } else if line.contains("/32 host LOCAL") {
            found.extend(last);
        }
    }
    found
}

/// Each line begins with an address, as 32 hexadecimal digits.
fn local_v6(text: &str) -> Vec<Ipv6Addr> {
    let address = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok().map(Ipv6Addr::from);
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_interfaces_are_read_as_the_kernel_writes_them() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n\
                    Local:\n     |-- 93.184.216.34\n        /32 host LOCAL\n     |-- 93.184.216.255\n        /32 link BROADCAST\n";
        let inet6 = "00000000000000000000000000000001 01 80 10 80       lo\n\
                     26000000000000000000000000000005 02 40 00 80     eth0\n";

        assert_eq!(local_v4(trie), ["93.184.216.34".parse::<Ipv4Addr>().unwrap()]);
        assert_eq!(local_v6(inet6), ["::1".parse::<Ipv6Addr>().unwrap(), "2600::5".parse().unwrap()]);
    }

    #[test]
    fn loopback_is_always_among_them() {
        let own = find(&Settings::default(), "http://127.0.0.1:7717");

        assert!(own.addresses.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
