//! Commands that change something: what exactly they send.

use serde_json::{Value, json};

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::{
    ACCOUNT, COMPONENT, HELLO, TICKER, WEBHOOK, account, component, connected_account, event, hello, ticker, webhook,
};

fn update_of(fake: &Fake, id: &str, arguments: &[&str]) -> Value {
    fake.data(&format!("PUT /v1/sources/{id}"), hello());
    let machine = Machine::of(fake);
    machine.file("new.js", "module.exports = {}");
    machine.run(&[&["update"], arguments].concat()).succeeded();
    fake.seen(&format!("PUT /v1/sources/{id}")).last().unwrap().body.clone()
}

#[test]
fn an_update_changes_what_is_given_and_keeps_the_rest() {
    let fake = account();
    fake.data("POST /v1/components", component(json!([])));

    assert_eq!(update_of(&fake, HELLO, &["hello-world", "--name", "New"]), json!({"active": true, "name": "New"}));
    assert_eq!(update_of(&fake, TICKER, &["ticker", "--name", "New"]), json!({"active": false, "name": "New"}));
    assert_eq!(update_of(&fake, TICKER, &["ticker", "--activate"]), json!({"active": true}));
    assert_eq!(update_of(&fake, HELLO, &["hello-world", "--deactivate"]), json!({"active": false}));
    // The name is not sent: the source keeps its own.
    assert_eq!(
        update_of(&fake, HELLO, &["hello-world", "--code", "new.js"]),
        json!({"active": true, "component_id": COMPONENT})
    );
}

#[test]
fn code_that_was_saved_for_a_deploy_or_an_update_goes_when_that_fails() {
    let fake = account();
    fake.data("POST /v1/components", component(json!([])));
    fake.refuse("POST /v1/sources", 422, "hook_failed", "the deploy hook failed");
    fake.refuse(&format!("PUT /v1/sources/{HELLO}"), 422, "hook_failed", "the activate hook failed");
    fake.text(&format!("DELETE /v1/components/{COMPONENT}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);
    machine.file("x.js", "module.exports = {}");

    let texts = [
        machine.run(&["deploy", "x.js"]).to_text(),
        machine.run(&["update", "hello-world", "--code", "x.js"]).to_text(),
    ];
    assert!(texts.iter().all(|text| text.contains("hook failed")), "{texts:?}");
    assert!(fake.seen("POST /v1/components").iter().all(|seen| seen.body["temporary"] == true));
    let deletion = format!("DELETE /v1/components/{COMPONENT}");
    assert_eq!(fake.seen(&deletion).len(), 2);
    // One that was there before stays.
    assert_ne!(machine.run(&["deploy", COMPONENT]).code, 0);
    assert_eq!(fake.seen(&deletion).len(), 2);
}

#[test]
fn one_prop_is_changed_without_the_others() {
    let fake = account();

    let sent = update_of(&fake, HELLO, &["hello-world", "--prop", "count=3"]);

    // The server knows what the stars stand for.
    let endpoint = json!({"endpoint_url": "https://wells.example/e/Kq3v8ZzT1mN0pR5sX7yB2c"});
    assert_eq!(sent["configured_props"], json!({"http": endpoint, "token": "********", "count": 3}));
}

#[test]
fn an_update_of_nothing_is_wrong_usage() {
    let ran = Machine::of(&account()).run(&["update", "hello-world"]);

    assert_eq!((ran.code, ran.stderr.lines().next()), (2, Some("error: nothing to change")));
}

#[test]
fn deleting_asks_for_confirmation_and_without_a_terminal_needs_yes() {
    let fake = account();
    fake.text(&format!("DELETE /v1/sources/{HELLO}"), 204, "text/plain", "");
    fake.text(&format!("DELETE /v1/sources/{TICKER}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let unasked = machine.run(&["delete", "hello-world"]);
    assert_eq!(
        (unasked.code, unasked.stderr.as_str()),
        (
            2,
            "error: this needs a confirmation, and there is no terminal to ask on: Delete hello-world with all events?\nhint: add --yes\n"
        )
    );
    let typo = machine.run(&["delete", "hello-world", "tikcer", "--yes"]);
    assert_eq!(typo.code, 1);
    assert_eq!(fake.changes(), Vec::<String>::new());
    let ran = machine.run(&["delete", "hello-world", "ticker", "--yes", "--ignore-hook-errors"]).succeeded();

    check_snapshot("delete", &ran.to_text());
    assert_eq!(fake.seen(&format!("DELETE /v1/sources/{HELLO}"))[0].query, "ignore_hook_errors=true");
    assert_eq!(fake.changes().len(), 2);
}

#[test]
fn components_are_deleted_by_id_with_their_sources_or_by_their_key() {
    let fake = account();
    fake.text(&format!("DELETE /v1/sources/{HELLO}"), 204, "text/plain", "");
    let used = json!({
        "error": format!("component `{COMPONENT}` is used by {HELLO}"), "code": "component_in_use",
        "details": {"used_by": [HELLO]},
    });
    fake.json(&format!("DELETE /v1/components/{COMPONENT}"), 409, used);
    fake.text(&format!("DELETE /v1/components/{COMPONENT}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let texts = [
        machine.run(&["components", "delete", "hello-world", "--yes"]).to_text(),
        machine.run(&["components", "delete", "hello-wrld", "--yes"]).to_text(),
        machine.run(&["delete", COMPONENT]).to_text(),
        machine.run(&["delete", COMPONENT, "hello-world", "--yes"]).to_text(),
        machine.run(&["components", "delete", "Hello World", "--yes", "--json"]).to_text(),
    ];

    check_snapshot("components-delete", &texts.concat());
    let [source, component] = [format!("DELETE /v1/sources/{HELLO}"), format!("DELETE /v1/components/{COMPONENT}")];
    assert_eq!(fake.changes(), [&component, &source, &component, &component].map(String::as_str));
}

#[test]
fn accounts_are_connected_listed_and_deleted() {
    let fake = account();
    fake.data("POST /v1/accounts", connected_account());
    let used = json!({
        "error": format!("account `{ACCOUNT}` is used by hello-world ({HELLO})"), "code": "account_in_use",
        "details": {"used_by": [HELLO]},
    });
    fake.json(&format!("DELETE /v1/accounts/{ACCOUNT}"), 409, used);
    fake.text(&format!("DELETE /v1/accounts/{ACCOUNT}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);
    machine.file("credentials.json", r#"{"oauth_access_token": "xoxb-1"}"#);
    machine.file("wrong.json", r#"{"oauth_access_token": 1}"#);
    let connect = |more: &[&str]| machine.run(&[&["accounts", "connect"], more].concat()).to_text();

    let texts = [
        connect(&["slack", "--name", "Work", "--credentials", "credentials.json"]),
        connect(&["slack", "--credentials", "wrong.json"]),
        connect(&["slack"]),
        connect(&["slakc", "--credentials", "credentials.json"]),
        machine.run(&["accounts"]).to_text(),
        machine.run(&["list", "accounts", "--json"]).to_text(),
        machine.run(&["list", "apps"]).to_text(),
        machine.run(&["accounts", "delete", "Work"]).to_text(),
        machine.run(&["accounts", "delete", "Work", "--yes"]).to_text(),
        machine.run(&["accounts", "delete", "Work", "--force"]).to_text(),
        machine.run(&["accounts", "delete", "Work", "--force", "--yes"]).to_text(),
    ];

    check_snapshot("accounts", &texts.concat());
    let queries: Vec<String> =
        fake.seen(&format!("DELETE /v1/accounts/{ACCOUNT}")).into_iter().map(|seen| seen.query).collect();
    assert_eq!(queries, ["", "force=true"]);
    let sent: Vec<Value> = fake.seen("POST /v1/accounts").into_iter().map(|seen| seen.body).collect();
    let credentials = json!({"oauth_access_token": "xoxb-1"});
    assert_eq!(sent, [json!({"app": "slack", "name": "Work", "credentials": credentials})]);
    assert_eq!(fake.changes().len(), 3);
}

#[test]
fn a_run_prints_what_was_emitted_and_talks_about_the_rest() {
    let fake = account();
    let log = json!({"run_id": "r", "at_ms": 1, "level": "info", "message": "hello"});
    let done = json!({
        "run_id": "r", "ok": true, "emitted": [event("1589486981597-0", json!({"a": 1}), Some("one"))], "emitted_count": 1,
        "error": null, "logs": [log], "duration_ms": 3, "compute_ms": 1, "fuel_used": 9,
    });
    let failed = json!({
        "run_id": "r", "ok": false, "emitted": [], "emitted_count": 0, "logs": [], "duration_ms": 3,
        "error": {"code": "threw", "message": "Error: no", "stack": "Error: no\n    at run (hello.js:3:1)\n"},
    });
    fake.data(&format!("POST /v1/sources/{HELLO}/run"), done);
    fake.data(&format!("POST /v1/sources/{HELLO}/run"), failed);
    let machine = Machine::of(&fake);
    machine.file("event.json", r#"{"from": "file"}"#);

    let texts = [
        machine.run(&["run", "hello-world", "--event", r#"{"inline": true}"#]).to_text(),
        machine.run(&["run", "hello-world", "--event", "event.json"]).to_text(),
    ];

    check_snapshot("run", &texts.concat());
    let sent: Vec<Value> =
        fake.seen(&format!("POST /v1/sources/{HELLO}/run")).into_iter().map(|seen| seen.body).collect();
    assert_eq!(sent, [json!({"inline": true}), json!({"from": "file"})]);
}

#[test]
fn an_action_is_run_with_its_props() {
    let fake = account();
    let mut action = component(json!([{"name": "text", "type": "string"}]));
    action["type"] = json!("action");
    fake.data("GET /v1/components/shout", action);
    fake.data(
        &format!("POST /v1/components/{COMPONENT}/run"),
        json!({
            "run_id": "r", "ok": true, "return_value": "HI", "exports": {"$summary": "Shouted HI"}, "error": null,
            "logs": [], "duration_ms": 2, "exit": {"reason": "enough"},
            "reply": {"status": 201, "headers": {"content-type": "text/plain"}, "body": "created\nall"},
            "sends": [
                {"kind": "http", "ok": true, "url": "https://example.com/", "status": 200},
                {"kind": "email", "ok": false, "error": "this server has no mail server"},
            ],
        }),
    );

    let ran = Machine::of(&fake).run(&["run", "shout", "--prop", "text=hi"]).succeeded();

    check_snapshot("run-action", &ran.to_text());
    assert_eq!(
        fake.seen(&format!("POST /v1/components/{COMPONENT}/run"))[0].body["configured_props"],
        json!({"text": "hi"})
    );
}

#[test]
fn a_component_of_a_source_is_deployed_before_it_is_run() {
    let ran = Machine::of(&account()).run(&["run", COMPONENT]);

    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(&format!("hint: `wellspring deploy {COMPONENT}` makes a source of it")),
        "{}",
        ran.stderr
    );
}

#[test]
fn publishing_saves_for_the_user_or_for_all_users() {
    let fake = account();
    fake.data("POST /v1/components", component(json!([])));
    fake.data("POST /v1/admin/registry", component(json!([])));
    fake.text("DELETE /v1/admin/registry/hello-world", 204, "text/plain", "");
    let machine = Machine::of(&fake);
    machine.file("x.js", "module.exports = {}");

    let texts = [
        machine.run(&["publish", "x.js"]).to_text(),
        machine.run(&["publish", "x.js", "--registry"]).to_text(),
        machine.run(&["unpublish", "hello-world"]).to_text(),
        machine.run(&["publish", "hello-world"]).to_text(),
    ];

    check_snapshot("publish", &texts.concat());
    let expected = ["POST /v1/components", "POST /v1/admin/registry", "DELETE /v1/admin/registry/hello-world"];
    assert_eq!(fake.changes(), expected);
}

#[test]
fn listeners_are_sources_webhooks_and_addresses() {
    let fake = account();
    let made = |emitter: &str| json!({"id": "sub_New000000001", "emitter_id": emitter, "listener_id": WEBHOOK, "event_name": ""});
    fake.data("POST /v1/subscriptions", made(HELLO));
    fake.data("POST /v1/auto_subscriptions", made("*"));
    let mut new = webhook();
    new["id"] = json!("wh_New000000001");
    new["signing_secret"] = json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    fake.data("POST /v1/webhooks", new);
    let machine = Machine::of(&fake);

    let texts = [
        machine.run(&["subscribe", "hello-world", "ticker"]).to_text(),
        machine.run(&["subscribe", "hello-world", "My hook", "--stream", "$errors"]).to_text(),
        machine.run(&["subscribe", "dc_*", "https://example.com/new"]).to_text(),
        machine.run(&["subscribe", "*", WEBHOOK, "--stream", "$logs"]).to_text(),
    ];

    check_snapshot("subscribe", &texts.concat());
    let sent: Vec<Value> = fake.seen("POST /v1/subscriptions").into_iter().map(|seen| seen.body).collect();
    let body = |emitter: &str, stream: &str, listener: &str| json!({"emitter_id": emitter, "event_name": stream, "listener_id": listener});
    assert_eq!(sent, [body(HELLO, "", TICKER), body(HELLO, "$errors", WEBHOOK), body("dc_*", "", "wh_New000000001")]);
    assert_eq!(
        fake.seen("POST /v1/auto_subscriptions")[0].body,
        json!({"event_name": "$logs", "listener_id": WEBHOOK})
    );
}

#[test]
fn a_subscription_ends_by_its_id_or_by_its_ends() {
    let fake = account();
    fake.text("DELETE /v1/subscriptions", 204, "text/plain", "");
    fake.text("DELETE /v1/auto_subscriptions", 204, "text/plain", "");
    let machine = Machine::of(&fake);

    machine.run(&["unsubscribe", "sub_Ab0000000001"]).succeeded();
    machine.run(&["unsubscribe", "sub_Ab0000000002"]).succeeded();
    machine.run(&["unsubscribe", "hello-world", "https://example.com/hook", "--stream", "$errors"]).succeeded();

    let queries: Vec<String> = fake.seen("DELETE /v1/subscriptions").into_iter().map(|seen| seen.query).collect();
    assert_eq!(
        queries,
        [
            format!("emitter_id={HELLO}&listener_id={WEBHOOK}&event_name="),
            format!("emitter_id={HELLO}&listener_id={WEBHOOK}&event_name=%24errors"),
        ]
    );
    assert_eq!(
        fake.seen("DELETE /v1/auto_subscriptions")[0].query,
        format!("event_name=%24errors&listener_id={WEBHOOK}")
    );
}

#[test]
fn webhooks_are_made_and_deleted() {
    let fake = account();
    let mut new = webhook();
    new["signing_secret"] = json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    fake.data("POST /v1/webhooks", new);
    fake.text(&format!("DELETE /v1/webhooks/{WEBHOOK}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let mut off = webhook();
    off["active"] = json!(false);
    off["inactive_reason"] = json!("the receiver answered 410");
    fake.data(&format!("PUT /v1/webhooks/{WEBHOOK}"), off);
    fake.data(&format!("PUT /v1/webhooks/{WEBHOOK}"), webhook());

    let texts = [
        machine.run(&["webhooks", "create", "https://example.com/hook", "--name", "My hook"]).to_text(),
        machine.run(&["webhooks", "update", "My hook", "--name", "Other"]).to_text(),
        machine.run(&["webhooks", "update", "My hook", "--activate"]).to_text(),
        machine.run(&["webhooks", "update", "My hook"]).to_text(),
        machine.run(&["webhooks", "delete", "My hook"]).to_text(),
        machine.run(&["webhooks", "delete", "My hok"]).to_text(),
    ];

    check_snapshot("webhooks-changes", &texts.concat());
    let sent: Vec<Value> =
        fake.seen(&format!("PUT /v1/webhooks/{WEBHOOK}")).into_iter().map(|seen| seen.body).collect();
    let body = |active: Value, name: Value| json!({"active": active, "url": null, "name": name, "description": null});
    assert_eq!(sent, [body(json!(null), json!("Other")), body(json!(true), json!(null))]);
}

#[test]
fn deliveries_are_replayed_one_by_one_or_all() {
    let fake = account();
    let id = "1btF3Ycb2bLHEHCpLo25wHRcCUG";
    fake.data(&format!("POST /v1/dead_letters/{id}/replay"), json!({"id": id}));
    let machine = Machine::of(&fake);

    let texts = [
        machine.run(&["deliveries", "replay", id]).to_text(),
        machine.run(&["deliveries", "replay", "--all"]).to_text(),
        machine.run(&["deliveries", "replay", "nothing"]).to_text(),
        machine.run(&["deliveries", "replay"]).code.to_string(),
    ];

    check_snapshot("replay", &texts.concat());
    assert_eq!(fake.changes().len(), 2);
}

#[test]
fn a_kept_event_is_delivered_again_to_all_or_to_one() {
    let fake = account();
    let route = format!("POST /v1/sources/{HELLO}/events/1589486981597-0/redeliver");
    fake.data(&route, json!({"event_id": "1589486981597-0", "listeners": [WEBHOOK]}));
    fake.data(&route, json!({"event_id": "1589486981597-0", "listeners": [WEBHOOK]}));
    fake.data(&route, json!({"event_id": "1589486981597-0", "listeners": []}));
    let machine = Machine::of(&fake);
    let redeliver = ["deliveries", "redeliver", "hello-world", "1589486981597-0"];

    let texts = [
        machine.run(&redeliver).to_text(),
        machine.run(&[&redeliver[..], &["--to", "My hook", "--stream", "default"]].concat()).to_text(),
        machine.run(&redeliver).to_text(),
        machine.run(&["deliveries", "redeliver", "hello-world", "1-0"]).to_text(),
    ];

    check_snapshot("redeliver", &texts.concat());
    let sent: Vec<Value> = fake.seen(&route).into_iter().map(|seen| seen.body).collect();
    assert_eq!(sent, [json!({}), json!({"listener_id": WEBHOOK, "event_name": "default"}), json!({})]);
}

#[test]
fn tickers_are_described_without_an_endpoint() {
    let fake = Fake::empty();
    fake.page("GET /v1/users/me/sources", &[ticker()]);

    let ran = Machine::of(&fake).run(&["describe", "ticker"]).succeeded();

    assert!(ran.stdout.contains("every 900 s") && !ran.stdout.contains("endpoint"), "{}", ran.stdout);
}

#[test]
fn a_key_is_made_listed_renamed_and_revoked_by_its_name() {
    let fake = Fake::empty();
    let key = json!({
        "id": "key_Ab12Cd34Ef56", "name": "CI", "scopes": ["read", "deploy"], "expires_at": 1_588_000_000,
        "last_used_at": null, "created_at": 1_580_000_000, "current": false,
    });
    let first = json!({"id": "key_0000000000000000", "created_at": 1_580_000_000, "current": true});
    fake.data("GET /v1/users/me/keys", json!([key, first]));
    fake.data("POST /v1/users/me/keys", json!({"id": "key_Ab12Cd34Ef56", "api_key": "wsk_new"}));
    fake.data("PUT /v1/users/me/keys/key_Ab12Cd34Ef56", key);
    fake.text("DELETE /v1/users/me/keys/key_Ab12Cd34Ef56", 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let made =
        machine.run(&["keys", "create", "--name", "CI", "--scopes", "deploy,read", "--expires", "30d"]).succeeded();
    machine.run(&["keys", "rename", "CI", "new"]).succeeded();
    machine.run(&["keys", "delete", "CI"]).succeeded();

    let sent = fake.seen("POST /v1/users/me/keys")[0].body.clone();
    assert_eq!((made.stdout.as_str(), &sent["scopes"]), ("wsk_new\n", &json!(["deploy", "read"])));
    assert!(sent["expires_at"].as_i64().unwrap() > 1_700_000_000 + 30 * 86_400);
    assert_eq!(fake.seen("PUT /v1/users/me/keys/key_Ab12Cd34Ef56")[0].body, json!({"name": "new"}));
    assert_eq!(fake.seen("DELETE /v1/users/me/keys/key_Ab12Cd34Ef56").len(), 1);
    check_snapshot("keys", &machine.run(&["keys"]).to_text());
    assert_eq!(machine.run(&["keys", "create", "--scopes", "all"]).code, 2);
}

#[test]
fn a_signing_secret_is_rotated_with_the_overlap_that_is_asked_for() {
    let fake = account();
    let mut rotated = webhook();
    rotated["signing_secret"] = json!("whsec_new");
    let line = format!("POST /v1/webhooks/{WEBHOOK}/rotate_secret");
    fake.data(&line, rotated);
    let machine = Machine::of(&fake);

    let by_default = machine.run(&["webhooks", "rotate-secret", WEBHOOK]).succeeded();
    machine.run(&["webhooks", "rotate-secret", WEBHOOK, "--overlap", "0"]).succeeded();

    assert_eq!(by_default.stdout, "whsec_new\n");
    let overlaps: Vec<Value> = fake.seen(&line).into_iter().map(|seen| seen.body["overlap_seconds"].clone()).collect();
    assert_eq!(overlaps, [86_400, 0]);
}
