//! Profiles: what is kept, for whom, and which one counts.

use std::os::unix::fs::PermissionsExt;

use crate::client::{Machine, check_snapshot};
use crate::fake::{Fake, KEY};
use crate::world::account;

fn kept(machine: &Machine) -> String {
    std::fs::read_to_string(machine.folder().join(".config/wellspring/profiles.toml")).unwrap()
}

#[test]
fn a_login_is_kept_for_its_owner_alone() {
    let fake = account();
    let machine = Machine::new();

    let ran = machine.run_with_input(&["login", "--url", &fake.url()], &format!("{KEY}\n")).succeeded();

    check_snapshot("login", &ran.to_text());
    assert!(!ran.to_text().contains(KEY));
    let file = machine.folder().join(".config/wellspring/profiles.toml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    machine.run(&["list"]).succeeded();
}

#[test]
fn a_login_with_a_wrong_key_is_not_kept() {
    let fake = account();
    let machine = Machine::new();

    let ran = machine.run_with_input(&["login", "--url", &fake.url()], "wrong\n");

    assert_eq!(ran.code, 1);
    assert!(!machine.folder().join(".config").exists());
}

#[test]
fn a_login_needs_a_key_from_somewhere() {
    let ran = Machine::new().run(&["login"]);

    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("hint: set WELLSPRING_API_KEY"), "{}", ran.stderr);
}

#[test]
fn profiles_stand_side_by_side_and_the_last_login_counts() {
    let (here, there) = (account(), Fake::empty());
    there.page("GET /v1/users/me/sources", &[]);
    let machine = Machine::new();
    machine.run_with_input(&["login", "--url", &here.url(), "--profile", "here"], KEY).succeeded();
    machine.run_with_input(&["login", "--url", &there.url(), "--profile", "there"], KEY).succeeded();

    let current = machine.run(&["list", "--json"]).succeeded().stdout;
    let named = machine.run(&["list", "--profile", "here", "--json"]).succeeded().stdout;

    assert_eq!(current, "[]\n");
    assert!(named.contains("hello-world"));
    let typo = machine.run(&["list", "--profile", "hre"]);
    assert_eq!((typo.code, typo.stderr.contains("did you mean `here`?")), (1, true), "{}", typo.stderr);
}

#[test]
fn a_kept_key_goes_to_no_other_server() {
    let (home, other) = (account(), account());
    let machine = Machine::new();
    machine.run_with_input(&["login", "--url", &home.url()], KEY).succeeded();

    let ran = machine.run(&["list", "--url", &other.url()]);

    assert!(ran.stderr.contains("there is no API key for"), "{}", ran.stderr);
    assert!(other.seen("GET /v1/users/me/sources").is_empty());
    // The same server, written differently, is the same server.
    machine.run(&["list", "--url", &format!("{}/v1/", home.url())]).succeeded();
}

#[test]
fn the_environment_counts_more_than_the_profile() {
    let (home, other) = (account(), Fake::empty());
    other.page("GET /v1/users/me/sources", &[]);
    let machine = Machine::new();
    machine.run_with_input(&["login", "--url", &home.url()], KEY).succeeded();
    let machine = machine.with("WELLSPRING_URL", &other.url()).with("WELLSPRING_API_KEY", KEY);

    assert_eq!(machine.run(&["list", "--json"]).succeeded().stdout, "[]\n");
}

#[test]
fn logging_out_forgets_the_key() {
    let fake = account();
    let machine = Machine::new();
    machine.run_with_input(&["login", "--url", &fake.url()], KEY).succeeded();

    let ran = machine.run(&["logout"]).succeeded();

    check_snapshot("logout", &ran.to_text());
    assert!(!kept(&machine).contains(KEY));
    assert_eq!(machine.run(&["logout"]).succeeded().stderr, "there is no login to forget\n");
}

#[test]
fn whoami_tells_the_user_the_server_and_the_quotas_and_never_the_key() {
    let fake = Fake::empty();
    fake.forget("GET /v1/users/me");
    let user = |more: serde_json::Value| {
        let mut user = serde_json::json!({"id": "u_Ab12Cd34Ef56", "username": "ada", "email": "ada@example.com"});
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        user
    };
    let free = serde_json::json!({
        "api_key": KEY, "daily_compute_time_quota": 86_400_000, "daily_compute_time_used": 12,
        "daily_invocations_quota": 1_000_000, "daily_invocations_used": 7,
    });
    let paid = serde_json::json!({
        "billing_period_start_ts": 1_588_000_000, "billing_period_end_ts": 1_590_000_000,
        "billing_period_invocations": 9,
    });
    fake.data("GET /v1/users/me", user(free.clone()));
    fake.data("GET /v1/users/me", user(free));
    fake.data("GET /v1/users/me", user(paid));
    let key = serde_json::json!({
        "id": "key_Ab12Cd34Ef56", "name": "laptop", "scopes": ["read", "deploy"], "expires_at": null,
        "last_used_at": null, "created_at": 1_588_000_000, "current": true,
    });
    fake.data("GET /v1/users/me/keys", serde_json::json!([key]));
    let machine = Machine::of(&fake);

    let texts = [
        machine.run(&["whoami"]).to_text(),
        machine.run(&["whoami", "--json"]).to_text(),
        machine.run(&["whoami"]).to_text(),
    ];

    let text = texts.concat().replace(&fake.url(), "http://127.0.0.1:7717");
    assert!(!text.contains(KEY));
    check_snapshot("whoami", &text);
}

#[test]
fn keys_that_others_can_read_are_warned_of() {
    let fake = account();
    let machine = Machine::new();
    machine.run_with_input(&["login", "--url", &fake.url()], KEY).succeeded();
    let file = machine.folder().join(".config/wellspring/profiles.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();

    let ran = machine.run(&["list"]).succeeded();

    assert!(ran.stderr.starts_with("warning: others can read your keys; run `chmod 600 "), "{}", ran.stderr);
}

#[test]
fn a_damaged_file_is_named() {
    let machine = Machine::new();
    machine.file(".config/wellspring/profiles.toml", "profiles = 3");

    let ran = machine.run(&["list"]);

    assert_eq!((ran.code, ran.stderr.contains("profiles.toml cannot be read")), (1, true), "{}", ran.stderr);
}

#[test]
fn another_version_is_warned_of_on_login() {
    let fake = Fake::empty();
    fake.forget("GET /v1/openapi.json");
    fake.json("GET /v1/openapi.json", 200, serde_json::json!({"info": {"title": "Wellspring", "version": "9.0.0"}}));

    let ran = Machine::new().run_with_input(&["login", "--url", &fake.url()], KEY).succeeded();

    assert!(ran.stderr.contains("warning: the server is version 9.0.0, this is "), "{}", ran.stderr);
}
