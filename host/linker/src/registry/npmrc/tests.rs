//! npm's configuration.

use url::Url;

use super::Registry;

fn registry(texts: &[&str], variables: &[(&str, &str)]) -> Registry {
    let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Registry::from_texts(texts, &variable)
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn the_environment_outweighs_the_project_and_the_project_the_user() {
    let (user, project) = ("registry=https://user.test", "registry = \"https://project.test/npm\" ");
    let base = |registry: Registry| registry.packument_url("a").unwrap().to_string();

    assert_eq!(base(registry(&[user, ""], &[])), "https://user.test/a");
    assert_eq!(base(registry(&[user, project], &[])), "https://project.test/npm/a");
    assert_eq!(base(registry(&[user, project], &[("npm_config_registry", "https://env.test/")])), "https://env.test/a");
    let silent = registry(&["; registry=https://no.test\n# registry=https://no.test\n[x]\nnonsense"], &[]);
    assert_eq!(silent.packument_url("a"), None, "no registry is made up");
}

#[test]
fn scopes_have_registries_of_their_own() {
    let registry = registry(&["@acme:registry=https://acme.test/npm/\nregistry=https://main.test"], &[]);

    assert_eq!(registry.packument_url("@acme/x").unwrap().as_str(), "https://acme.test/npm/@acme%2fx");
    assert_eq!(registry.packument_url("@other/x").unwrap().as_str(), "https://main.test/@other%2fx");
}

#[test]
fn tokens_go_to_their_own_prefix_and_nowhere_else() {
    let text = "//main.test/:_authToken=${TOKEN}\n//main.test/deep/:_authToken=deep\n//basic.test:8080/:_auth=dTpw\n\
                //old.test/:username=u\n//old.test/:_password=cA==\n";
    let registry = registry(&[text], &[("TOKEN", "secret")]);
    let cases = [
        ("https://main.test/x", Some("Bearer secret")),
        ("https://main.test/deep/x", Some("Bearer deep")),
        ("https://basic.test:8080/x", Some("Basic dTpw")),
        ("https://basic.test/x", None),
        ("https://old.test/x", Some("Basic dTpw")),
        ("https://main.test.evil.test/x", None),
        ("https://evil.test/main.test/x", None),
    ];
    for (address, expected) in cases {
        assert_eq!(registry.authorization(&url(address)), expected, "{address}");
    }
    assert!(!format!("{registry:?}").contains("secret"));
}

#[test]
fn tarballs_laid_out_as_registries_do_come_from_the_mirror() {
    let mirror = Registry::at(url("https://mirror.test/npm"));
    let cases = [
        ("https://origin.test/a/-/a-1.tgz", "https://mirror.test/npm/a/-/a-1.tgz"),
        ("https://mirror.test/npm/a/-/a-1.tgz", "https://mirror.test/npm/a/-/a-1.tgz"),
        ("https://files.test/a.tgz", "https://files.test/a.tgz"),
    ];
    for (address, expected) in cases {
        assert_eq!(mirror.tarball_url("a", address).unwrap().as_str(), expected);
    }
}

#[test]
fn variables_that_are_not_set_stay_as_written() {
    let registry = registry(&["//a.test/:_authToken=x${NONE}y${"], &[]);

    assert_eq!(registry.authorization(&url("https://a.test/")), Some("Bearer x${NONE}y${"));
}
