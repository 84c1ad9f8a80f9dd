//! Tests of provider files, their templates and their fields.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::template::{TemplateError, host_matches, names, render, render_url};
use super::super::{Provider, shipped};

fn provider(more: Value) -> Result<Provider, String> {
    let mut file = json!({"slug": "acme", "name": "Acme", "auth": {"type": "keys"}});
    file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let listed = |problems: Vec<crate::problem::Problem>| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    Provider::parse(&file).map_err(listed)
}

#[test]
fn templates_are_filled_in_and_what_is_missing_is_named() {
    let value_of = |name: &str| (name == "domain").then(|| "acme".to_owned());

    assert_eq!(
        render("https://{{ domain }}.example.com/{{domain}}", &value_of).unwrap(),
        "https://acme.example.com/acme"
    );
    assert_eq!(render("{{ other }}", &value_of), Err(TemplateError::Missing { name: "other".into() }));
    assert_eq!(render("{{ domain", &value_of), Err(TemplateError::Unclosed));
    assert_eq!(names("{{ a }}/{{b}}"), ["a", "b"]);
}

#[test]
fn an_address_is_https_and_has_no_user_and_plain_http_is_for_this_machine() {
    let check = |template: &str| render_url(template, &|_| Some("x".into())).is_ok();

    assert!(check("https://a.example/{{ p }}") && check("http://127.0.0.1:1/") && check("http://localhost/"));
    assert!(!check("http://a.example/") && !check("https://u:p@a.example/") && !check("ftp://a.example/"));
    assert!(!check("nothing"));
}

#[test]
fn a_host_is_the_apps_own_only_by_its_whole_name() {
    for (pattern, host, is_own) in [
        ("api.example.com", "api.example.com", true),
        ("api.example.com", "API.example.com", true),
        ("api.example.com", "evil-api.example.com", false),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "evilexample.com", false),
        ("*.example.com", "example.com.evil.test", false),
        ("*.example.com", "éexample.com", false),
    ] {
        assert_eq!(host_matches(pattern, host), is_own, "{pattern} {host}");
    }
}

#[test]
fn a_file_that_cannot_work_is_refused_with_what_is_wrong() {
    for (more, wrong) in [
        (json!({"slug": "A b"}), "slug: must be 1 to 64 of a-z, 0-9 and _"),
        (json!({"hosts": ["{{ domain }}.example.com"]}), "hosts: there is no field `domain`"),
        (
            json!({"hosts": ["{{ domain }}.example.com"], "fields": [{"name": "domain", "label": "D"}]}),
            "hosts: `domain` is part of an address, so its format is `label` or `host`",
        ),
        (json!({"test": {"url": "http://example.com"}}), "test.url: must be an address of HTTPS"),
        (
            json!({"placement": [{"value": "x"}]}),
            "placement: needs one of `header` and `query`; hosts: is needed beside `placement`: credentials are sent nowhere else",
        ),
        (json!({"auth": {"type": "basic"}}), "fields: needs a user name and a password"),
        (json!({"surprise": 1}), "unknown field `surprise`"),
    ] {
        let said = provider(more).unwrap_err();
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn fields_are_required_known_and_of_their_format() {
    let zendesk = shipped("zendesk").unwrap();
    let read = |value: &str| zendesk.read_fields(&BTreeMap::from([("subdomain".to_owned(), value.to_owned())]));

    assert_eq!(read(" acme ").unwrap()["subdomain"], "acme");
    for wrong in ["evil.example/", "a.b", "", "a b", "a@b"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    let unknown = BTreeMap::from([("subdomain".to_owned(), "a".to_owned()), ("subdoman".to_owned(), "b".to_owned())]);
    let said = zendesk.read_fields(&unknown).unwrap_err();
    assert_eq!(said[0].to_string(), "subdoman: is not a field of Zendesk; did you mean `subdomain`?");
}
