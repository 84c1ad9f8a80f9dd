//! What can be written in `require("…")`.

use super::{PackageSpecifier, Specifier};
use crate::error::NameFault;

fn package(text: &str) -> (String, Option<String>, String) {
    match Specifier::parse(text) {
        Ok(Specifier::Package(PackageSpecifier { name, range, subpath })) => (name, range, subpath),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn names_ranges_and_subpaths_are_told_apart() {
    let cases = [
        ("axios", "axios", None, ""),
        ("axios@1.2.3", "axios", Some("1.2.3"), ""),
        ("axios@^1", "axios", Some("^1"), ""),
        ("axios@~1.2", "axios", Some("~1.2"), ""),
        ("axios@next", "axios", Some("next"), ""),
        ("axios@>=1 <2", "axios", Some(">=1 <2"), ""),
        ("axios@1.2.3/lib/x.js", "axios", Some("1.2.3"), "/lib/x.js"),
        ("lodash/chunk", "lodash", None, "/chunk"),
        ("@slack/web-api", "@slack/web-api", None, ""),
        ("@slack/web-api@7", "@slack/web-api", Some("7"), ""),
        ("@slack/web-api@7.0.0-beta.1/dist/a@b", "@slack/web-api", Some("7.0.0-beta.1"), "/dist/a@b"),
        ("buffer/", "buffer", None, "/"),
        ("JSONStream", "JSONStream", None, ""),
    ];
    for (text, name, range, subpath) in cases {
        assert_eq!(package(text), (name.to_owned(), range.map(str::to_owned), subpath.to_owned()), "{text}");
    }
}

#[test]
fn built_in_modules_are_left_to_the_guest() {
    for text in ["fs", "node:fs", "fs/promises", "stream/web", "util/types", "node:test"] {
        assert_eq!(Specifier::parse(text), Ok(Specifier::BuiltIn), "{text}");
    }
    for text in ["fs-extra", "util/", "stream-json/streamers/x", "@pipedream/types"] {
        assert!(matches!(Specifier::parse(text), Ok(Specifier::Package(_))), "{text}");
    }
}

#[test]
fn paths_and_internal_names_are_told_from_packages() {
    for text in [".", "..", "./a", "../a", "./"] {
        assert_eq!(Specifier::parse(text), Ok(Specifier::Relative), "{text}");
    }
    assert_eq!(Specifier::parse("#internal"), Ok(Specifier::Internal));
}

#[test]
fn what_is_no_name_says_why() {
    let long = "a".repeat(215);
    let cases = [
        ("", NameFault::Empty),
        ("@scope", NameFault::Empty),
        ("@scope/", NameFault::Empty),
        ("@/a", NameFault::Empty),
        ("a@", NameFault::Range),
        ("a@!!", NameFault::Range),
        ("a@npm:b", NameFault::Range),
        (".hidden", NameFault::Characters),
        ("_a", NameFault::Characters),
        ("a b", NameFault::Characters),
        ("a%2fb", NameFault::Characters),
        ("node_modules", NameFault::Characters),
        ("/etc/passwd", NameFault::Absolute),
        ("https://example.com/a.js", NameFault::Url),
        ("file:a", NameFault::Url),
        ("data:text/javascript,1", NameFault::Url),
        (long.as_str(), NameFault::TooLong),
    ];
    for (text, fault) in cases {
        assert_eq!(Specifier::parse(text), Err(fault), "{text}");
    }
    assert!(Specifier::parse(&"a".repeat(214)).is_ok());
}
