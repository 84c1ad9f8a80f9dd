//! Servers that are down, elsewhere, old, or no servers at all.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::account;

#[test]
fn a_server_that_is_down_is_named_with_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let machine = Machine::new().with("WELLSPRING_URL", &format!("http://{free}")).with("WELLSPRING_API_KEY", "k");

    let ran = machine.run(&["list"]);

    check_snapshot("server-down", &ran.to_text());
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
}

#[test]
fn a_wrong_key_is_told_from_a_missing_one() {
    let fake = account();
    let machine = || Machine::new().with("WELLSPRING_URL", &fake.url());

    let wrong = machine().with("WELLSPRING_API_KEY", "not-the-key").run(&["list"]);
    let missing = machine().run(&["list"]);

    check_snapshot("wrong-key", &wrong.to_text());
    check_snapshot("missing-key", &missing.to_text());
}

#[test]
fn an_old_server_is_told_by_its_version() {
    let fake = Fake::empty();
    fake.forget("GET /v1/openapi.json");
    fake.json("GET /v1/openapi.json", 200, json!({"info": {"title": "Wellspring", "version": "0.0.7"}}));
    fake.refuse("GET /v1/users/me/sources", 404, "route_not_found", "there is nothing at this path");
    // Or it answers, in a shape of its time.
    fake.json("GET /v1/users/me/webhooks", 200, json!({"webhooks": []}));
    let machine = Machine::of(&fake);

    check_snapshot("old-server", &machine.run(&["list"]).to_text());
    assert_eq!(machine.run(&["webhooks"]).stderr, machine.run(&["list"]).stderr);
}

#[test]
fn an_answer_that_is_not_understood_is_not_blamed_on_the_version() {
    let fake = Fake::empty();
    fake.json("GET /v1/users/me/sources", 200, json!({"sources": []}));

    let ran = Machine::of(&fake).run(&["list"]);

    assert_eq!((ran.code, ran.stderr.contains("does not understand")), (1, true), "{}", ran.stderr);
}

#[test]
fn what_is_no_wellspring_is_told_so() {
    let fake = Fake::empty();
    fake.forget("GET /v1/openapi.json");
    fake.text("GET /v1/openapi.json", 404, "text/html", "<h1>Not found</h1>");
    fake.text("GET /v1/users/me/sources", 502, "text/html", "<h1>Bad gateway</h1>");

    let ran = Machine::of(&fake).run(&["list"]);

    check_snapshot("no-wellspring", &ran.to_text());
}

#[test]
fn a_key_does_not_follow_a_redirect() {
    let fake = Fake::empty();
    fake.redirect("GET /v1/users/me/sources", "https://elsewhere.example/");

    let ran = Machine::of(&fake).run(&["list"]);

    check_snapshot("redirect", &ran.to_text());
}

#[test]
fn an_address_that_is_none_is_wrong_usage() {
    for url in ["localhost:7717", "ftp://x", "http://", "nonsense"] {
        let ran = Machine::new().with("WELLSPRING_URL", url).with("WELLSPRING_API_KEY", "k").run(&["list"]);
        assert_eq!((ran.code, ran.stderr.contains("is not an address")), (2, true), "{url}: {}", ran.stderr);
    }
}

#[test]
fn refusals_carry_what_the_author_needs() {
    let fake = account();
    let refuse = |code: &str, details: Value| {
        let body = json!({"error": "the server's own words", "code": code, "details": details});
        fake.json("POST /v1/components", 422, body);
    };
    let file = Machine::of(&fake);
    file.file("x.js", "module.exports = {}");
    refuse("syntax_error", json!({"file": "x.js", "line": 3, "column": 7}));
    refuse("component_does_not_load", json!({"stack": "TypeError: no\n    at x.js:1:1\n"}));
    refuse("invalid_component", json!({"problems": [{"path": "props.x.type", "message": "is not a type"}]}));
    refuse("admin_only", Value::Null);

    let texts = [1, 2, 3, 4].map(|_| file.run(&["publish", "x.js"]).to_text());

    check_snapshot("refusals", &texts.concat());
}

#[test]
fn errors_for_programs_are_json_too() {
    let fake = account();
    fake.json("POST /v1/sources/dc_Hello0000001/run", 429, json!({"error": "used up", "code": "quota_exceeded"}));
    let machine = Machine::of(&fake);

    let refused = machine.run(&["run", "hello-world", "--json"]);
    let missing = machine.run(&["describe", "helo-world", "--json"]);

    let error: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!((refused.code, &error["code"], &error["status"]), (1, &json!("quota_exceeded"), &json!(429)));
    let error: Value = serde_json::from_str(&missing.stderr).unwrap();
    assert_eq!((&error["code"], &error["hint"]), (&json!("not_found"), &json!("did you mean `hello-world`?")));
    assert_eq!((refused.stdout, missing.stdout), (String::new(), String::new()));
}

#[test]
fn a_proxy_is_not_asked_for_a_server_on_this_machine() {
    let fake = account();
    let machine = Machine::of(&fake).with("http_proxy", "http://127.0.0.1:1").with("HTTP_PROXY", "http://127.0.0.1:1");

    machine.run(&["list"]).succeeded();
}
