//! Tests of rules.

use super::*;

fn policy(allow: &[&str], deny: &[&str]) -> Policy {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Policy { allow: rules(allow), deny: rules(deny), own: Own::default() }
}

/// Of a tenant `u_a` that connects to `host:port`, which resolves to these addresses.
fn judge(policy: &Policy, target: &str, addresses: &[&str]) -> Result<(), Denied> {
    let (host, port) = target.rsplit_once(':').unwrap();
    let host = Host::parse(host).unwrap();
    let wanted = Wanted { tenant: "u_a", host: &host, port: port.parse().unwrap() };
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    policy.check_addresses(wanted, &addresses)
}

#[test]
fn a_deny_rule_refuses_what_it_matches() {
    let cases: [(&str, &str, &str, Option<Denied>); 14] = [
        ("api.example.com", "api.example.com:443", "1.1.1.1", Some(Denied::Host)),
        ("api.example.com", "API.example.com.:80", "1.1.1.1", Some(Denied::Host)),
        ("api.example.com", "x.api.example.com:443", "1.1.1.1", None),
        ("*.example.com", "x.y.example.com:443", "1.1.1.1", Some(Denied::Host)),
        ("*.example.com", "example.com:443", "1.1.1.1", None),
        ("*.example.com", "badexample.com:443", "1.1.1.1", None),
        ("1.1.0.0/16", "any.example:443", "1.1.9.9", Some(Denied::Network)),
        ("1.1.0.0/16", "any.example:443", "::ffff:1.1.9.9", Some(Denied::Network)),
        ("1.1.0.0/16", "any.example:443", "1.2.0.0", None),
        ("[2600::/16]:443", "any.example:443", "2600::1", Some(Denied::Network)),
        ("*:8000-8999", "any.example:8080", "1.1.1.1", Some(Denied::Port)),
        ("*:8000-8999", "any.example:9000", "1.1.1.1", None),
        ("u_a@*", "any.example:443", "1.1.1.1", Some(Denied::NotAllowed)),
        ("u_b@*", "any.example:443", "1.1.1.1", None),
    ];

    for (rule, target, address, expected) in cases {
        assert_eq!(judge(&policy(&[], &[rule]), target, &[address]).err(), expected, "{rule} {target} {address}");
    }
}

#[test]
fn one_denied_address_of_an_answer_is_enough() {
    let policy = policy(&[], &["1.1.1.0/24"]);

    assert_eq!(judge(&policy, "any.example:443", &["9.9.9.9", "1.1.1.1"]), Err(Denied::Network));
}

#[test]
fn with_allow_rules_everything_else_is_refused() {
    let listed = policy(&["*.example.com:443", "9.9.9.0/24", "u_b@*"], &["secret.example.com"]);
    let cases = [
        ("api.example.com:443", "1.1.1.1", None),
        ("api.example.com:80", "1.1.1.1", Some(Denied::NotAllowed)),
        ("other.example:443", "9.9.9.9", None),
        ("other.example:443", "1.1.1.1", Some(Denied::NotAllowed)),
        ("secret.example.com:443", "9.9.9.9", Some(Denied::Host)),
    ];

    for (target, address, expected) in cases {
        assert_eq!(judge(&listed, target, &[address]).err(), expected, "{target} {address}");
    }
    assert_eq!(judge(&listed, "other.example:443", &["9.9.9.9", "1.1.1.1"]), Err(Denied::NotAllowed));
    assert_eq!(judge(&policy(&["u_b@x.example"], &[]), "other.example:443", &["1.1.1.1"]), Ok(()));
}

#[test]
fn the_server_itself_is_refused_by_name_and_by_address() {
    let hosts = vec![HostPattern::parse("hooks.example.com").unwrap(), HostPattern::parse("*.e.example.com").unwrap()];
    let own = Own { addresses: ["93.184.216.34".parse().unwrap()].into(), hosts };
    let policy = Policy { own, ..Policy::default() };
    let judge = |host: &str, address: &str| {
        let host = Host::parse(host).unwrap();
        policy.check_own(Wanted { tenant: "u_a", host: &host, port: 443 }, &[address.parse().unwrap()])
    };

    assert_eq!(judge("hooks.example.com", "1.1.1.1"), Err(Denied::Own));
    assert_eq!(judge("key.e.example.com", "1.1.1.1"), Err(Denied::Own));
    assert_eq!(judge("alias.example", "93.184.216.34"), Err(Denied::Own));
    assert_eq!(judge("alias.example", "::ffff:93.184.216.34"), Err(Denied::Own));
    assert_eq!(judge("example.com", "1.1.1.1"), Ok(()));
}

#[test]
fn what_is_no_rule_is_refused() {
    for text in ["", "@x", "x:", "x:0x", "x:9-8", "x:70000", "10.0.0.0/33", "*.1.2.3.4", "a b", "[::1", "[::1]x", "*x"]
    {
        assert!(text.parse::<Rule>().is_err(), "{text}");
    }
}
