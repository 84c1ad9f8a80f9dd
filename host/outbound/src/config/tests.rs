//! Host overrides: spelling and precedence.

use super::*;

#[test]
fn overrides_are_read_as_written_on_the_command_line() {
    for text in ["api.example.com=127.0.0.1:9001", "*=127.0.0.1:9001", "[::1]=[::1]:80", "10.0.0.1=127.0.0.1:1"] {
        assert_eq!(text.parse::<HostOverride>().unwrap().to_string(), text);
    }
}

#[test]
fn a_broken_override_says_how_to_write_one() {
    let check = |text: &str| text.parse::<HostOverride>().unwrap_err().to_string();

    assert!(check("api.example.com").contains("HOST=ADDRESS:PORT"));
    assert!(check("api.example.com=localhost").contains("127.0.0.1:9001"));
    assert!(check("api.example.com=127.0.0.1").contains("127.0.0.1:9001"));
    assert!(check("a b=127.0.0.1:1").contains("not a host"));
    assert!(check("=127.0.0.1:1").contains("not a host"));
}

#[test]
fn a_named_host_wins_over_the_star() {
    let overrides = ["*=127.0.0.1:1", "Api.Example.com.=127.0.0.1:2", "api.example.com=127.0.0.1:3"]
        .map(|text| text.parse().unwrap());
    let port = |host: &str| HostOverride::find(&overrides, &Host::parse(host).unwrap()).unwrap().port();

    assert_eq!(port("api.example.com"), 2);
    assert_eq!(port("api.example.com."), 2);
    assert_eq!(port("www.api.example.com"), 1);
    assert_eq!(HostOverride::find(&overrides[1..], &Host::parse("example.com").unwrap()), None);
}
