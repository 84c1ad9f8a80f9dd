//! Tests of client.

use super::{Client, Key, parse_base};

#[test]
fn an_address_is_taken_as_people_write_it() {
    for given in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", " http://h:1 "] {
        assert_eq!(Client::new(given, None).unwrap().url(), "http://h:1", "{given}");
    }
    // Behind a proxy that keeps it under a path.
    assert_eq!(Client::new("https://h/wells/v1", None).unwrap().url(), "https://h/wells");
}

#[test]
fn what_is_no_address_is_refused() {
    for given in ["", "h:1", "ftp://h", "http://", "http://h/?a=b", "http://h/#a"] {
        assert!(parse_base(given).is_err(), "{given}");
    }
}

#[test]
fn a_key_is_not_printed_by_accident() {
    let client = Client::new("http://h", Some(Key::new("hunter2"))).unwrap();

    assert!(!format!("{client:?}").contains("hunter2"));
}

#[test]
fn this_machine_is_told_from_others() {
    let is_near = |url: &str| super::is_on_this_machine(&parse_base(url).unwrap());

    for near in ["http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:1", "http://localhost", "http://a.localhost"] {
        assert!(is_near(near), "{near}");
    }
    for far in ["http://10.0.0.1", "http://example.com", "http://localhost.example.com", "http://[2001:db8::1]"] {
        assert!(!is_near(far), "{far}");
    }
}
