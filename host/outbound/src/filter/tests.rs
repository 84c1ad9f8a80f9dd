//! The filter by table and by property.

use proptest::prelude::*;
use url::{Host, Url};

use super::*;

/// Hosts as an attacker writes them; the URL parser turns each into an address.
const REFUSED_HOSTS: &[(&str, Refusal)] = &[
    ("0.0.0.0", Refusal::Unspecified),
    ("0", Refusal::Unspecified),
    ("0x0", Refusal::Unspecified),
    ("0.1.2.3", Refusal::Unspecified),
    ("127.0.0.1", Refusal::Loopback),
    ("127.0.0.1.", Refusal::Loopback),
    ("127.1", Refusal::Loopback),
    ("127.0.1", Refusal::Loopback),
    ("127.255.255.255", Refusal::Loopback),
    ("2130706433", Refusal::Loopback),
    ("0x7f000001", Refusal::Loopback),
    ("0x7F.1", Refusal::Loopback),
    ("0x7f.0x0.0x0.0x1", Refusal::Loopback),
    ("017700000001", Refusal::Loopback),
    ("0177.0.0.01", Refusal::Loopback),
    ("0177.0x0.1", Refusal::Loopback),
    ("%31%32%37.0.0.1", Refusal::Loopback),
    ("１２７.0.0.1", Refusal::Loopback),
    ("127。0。0。1", Refusal::Loopback),
    ("10.0.0.1", Refusal::Private),
    ("10.255.255.255", Refusal::Private),
    ("0xa.1", Refusal::Private),
    ("167772161", Refusal::Private),
    ("172.16.0.0", Refusal::Private),
    ("172.31.255.255", Refusal::Private),
    ("192.168.0.1", Refusal::Private),
    ("192.168.257", Refusal::Private),
    ("0300.0250.1", Refusal::Private),
    ("169.254.169.254", Refusal::Metadata),
    ("2852039166", Refusal::Metadata),
    ("0xa9fea9fe", Refusal::Metadata),
    ("0251.0376.0251.0376", Refusal::Metadata),
    ("100.100.100.200", Refusal::Metadata),
    ("168.63.129.16", Refusal::Metadata),
    ("169.254.0.1", Refusal::LinkLocal),
    ("169.254.170.2", Refusal::LinkLocal),
    ("169.254.255.255", Refusal::LinkLocal),
    ("100.64.0.0", Refusal::CarrierGradeNat),
    ("100.127.255.255", Refusal::CarrierGradeNat),
    ("192.0.0.0", Refusal::Reserved),
    ("192.0.0.192", Refusal::Reserved),
    ("192.0.2.1", Refusal::Documentation),
    ("198.51.100.255", Refusal::Documentation),
    ("203.0.113.0", Refusal::Documentation),
    ("198.18.0.0", Refusal::Benchmarking),
    ("198.19.255.255", Refusal::Benchmarking),
    ("192.88.99.1", Refusal::Tunnel),
    ("224.0.0.1", Refusal::Multicast),
    ("239.255.255.255", Refusal::Multicast),
    ("240.0.0.1", Refusal::Reserved),
    ("255.255.255.254", Refusal::Reserved),
    ("255.255.255.255", Refusal::Broadcast),
    ("4294967295", Refusal::Broadcast),
    ("[::]", Refusal::Unspecified),
    ("[::1]", Refusal::Loopback),
    ("[0:0:0:0:0:0:0:1]", Refusal::Loopback),
    ("[0000::0001]", Refusal::Loopback),
    ("[::127.0.0.1]", Refusal::Tunnel),
    ("[::8.8.8.8]", Refusal::Tunnel),
    ("[::ffff:127.0.0.1]", Refusal::Loopback),
    ("[::ffff:7f00:1]", Refusal::Loopback),
    ("[0:0:0:0:0:ffff:10.0.0.1]", Refusal::Private),
    ("[::ffff:169.254.169.254]", Refusal::Metadata),
    ("[::ffff:0:0]", Refusal::Unspecified),
    ("[::ffff:0:127.0.0.1]", Refusal::Reserved),
    ("[64:ff9b::10.0.0.1]", Refusal::Private),
    ("[64:ff9b::7f00:1]", Refusal::Loopback),
    ("[64:ff9b::a9fe:a9fe]", Refusal::Metadata),
    ("[64:ff9b:1::8.8.8.8]", Refusal::Tunnel),
    ("[64:ff9b:1:ffff::1]", Refusal::Tunnel),
    ("[100::1]", Refusal::Reserved),
    ("[2001::1]", Refusal::Tunnel),
    ("[2001:0:7f00:1::]", Refusal::Tunnel),
    ("[2001:2::1]", Refusal::Benchmarking),
    ("[2001:10::1]", Refusal::Reserved),
    ("[2001:20::1]", Refusal::Reserved),
    ("[2001:db8::1]", Refusal::Documentation),
    ("[2002:7f00:1::1]", Refusal::Tunnel),
    ("[2002:808:808::1]", Refusal::Tunnel),
    ("[3fff::1]", Refusal::Documentation),
    ("[3fff:fff::1]", Refusal::Documentation),
    ("[5f00::1]", Refusal::Reserved),
    ("[fc00::1]", Refusal::Private),
    ("[fd12:3456::1]", Refusal::Private),
    ("[fd00:ec2::254]", Refusal::Metadata),
    ("[fe80::1]", Refusal::LinkLocal),
    ("[febf:ffff::1]", Refusal::LinkLocal),
    ("[fec0::1]", Refusal::Private),
    ("[feff::1]", Refusal::Private),
    ("[ff02::1]", Refusal::Multicast),
    ("[ff0e::1]", Refusal::Multicast),
    ("[2606:4700::5efe:10.0.0.1]", Refusal::Tunnel),
    ("[2606:4700::200:5efe:10.0.0.1]", Refusal::Tunnel),
    ("[4000::1]", Refusal::Reserved),
    ("[1::1]", Refusal::Reserved),
];

const ALLOWED: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "3ffe:ffff::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
];

#[test]
fn every_spelling_of_a_refused_address_is_refused() {
    for (host, refusal) in REFUSED_HOSTS {
        assert_eq!(check(address_in_url(host)), Err(*refusal), "{host}");
    }
}

#[test]
fn public_addresses_are_allowed_up_to_the_edge_of_each_range() {
    for address in ALLOWED {
        assert_eq!(check(address.parse().unwrap()), Ok(()), "{address}");
    }
}

#[test]
fn ports_of_other_protocols_are_refused() {
    for port in [0, 22, 25, 465, 587, 6667] {
        assert!(is_refused_port(port), "{port}");
    }
    for port in [80, 443, 3000, 8080, 8443, 65535] {
        assert!(!is_refused_port(port), "{port}");
    }
}

#[test]
fn zone_ids_are_no_urls() {
    for host in ["[fe80::1%eth0]", "[fe80::1%25eth0]", "[::1%lo]"] {
        assert!(Url::parse(&format!("http://{host}/")).is_err(), "{host}");
    }
}

#[test]
fn localhost_is_known_in_every_spelling() {
    for name in ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.LocalHost."] {
        assert!(is_localhost(name), "{name}");
    }
    for name in ["localhost.example.com", "notlocalhost", "localhosts", ""] {
        assert!(!is_localhost(name), "{name}");
    }
}

proptest! {
    #[test]
    fn an_ipv4_address_and_what_embeds_it_are_judged_alike(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let verdict = check(address.into());

        prop_assert_eq!(check(address.to_ipv6_mapped().into()), verdict);
        let nat64 = Ipv6Addr::from((0x0064_ff9b_u128 << 96) | u128::from(bits));
        prop_assert_eq!(check(nat64.into()), verdict);
    }

    #[test]
    fn tunnels_are_refused_whatever_they_carry(bits: u32, rest: u64) {
        let six_to_four = (0x2002_u128 << 112) | (u128::from(bits) << 80) | u128::from(rest);
        let teredo = (0x2001_0000_u128 << 96) | (u128::from(bits) << 64) | u128::from(rest);
        let compatible = u128::from(bits);

        for address in [six_to_four, teredo, compatible] {
            prop_assert!(check(Ipv6Addr::from(address).into()).is_err());
        }
    }

    #[test]
    fn what_the_standard_library_calls_internal_is_refused(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let is_internal = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_unspecified()
            || address.is_documentation();

        prop_assert!(!is_internal || check(address.into()).is_err());
    }

    #[test]
    fn ipv6_outside_global_unicast_is_refused(bits: u128) {
        let address = Ipv6Addr::from(bits);
        let is_global = address.segments()[0] & 0xe000 == 0x2000;
        prop_assume!(!is_global && embedded_v4(address).is_none());

        prop_assert!(check(address.into()).is_err());
    }

    #[test]
    fn each_refused_range_is_refused_whole(index in 0..REFUSED_V4.len(), bits: u32) {
        let (network, prefix, _) = REFUSED_V4[index];
        let host_bits = bits & u32::MAX.checked_shr(prefix).unwrap_or(0);

        prop_assert!(check(Ipv4Addr::from(u32::from(network) | host_bits).into()).is_err());
    }
}

fn address_in_url(host: &str) -> IpAddr {
    match Url::parse(&format!("http://{host}/")).unwrap().host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        other => panic!("{host} is not an address but {other:?}"),
    }
}
