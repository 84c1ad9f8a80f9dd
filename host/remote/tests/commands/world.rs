//! An account with a bit of everything.

use serde_json::{Value, json};

use crate::fake::Fake;

pub(crate) const HELLO: &str = "dc_Hello0000001";
pub(crate) const TICKER: &str = "dc_Ticker000002";
pub(crate) const COMPONENT: &str = "sc_Hello0000001";
pub(crate) const ACCOUNT: &str = "apn_Work00000001";
pub(crate) const WEBHOOK: &str = "wh_Hook00000001";

pub(crate) fn source(id: &str, name: &str, slug: &str, props: Value, is_active: bool) -> Value {
    json!({
        "id": id, "component_id": COMPONENT, "configured_props": props, "active": is_active,
        "created_at": 1_588_866_900, "updated_at": 1_588_866_900, "name": name, "name_slug": slug,
    })
}

pub(crate) fn hello() -> Value {
    let props =
        json!({"http": {"endpoint_url": "https://wells.example/e/Kq3v8ZzT1mN0pR5sX7yB2c"}, "token": "********"});
    source(HELLO, "Hello World", "hello-world", props, true)
}

pub(crate) fn ticker() -> Value {
    source(TICKER, "Ticker", "ticker", json!({"timer": {"cron": null, "interval_seconds": 900}}), false)
}

pub(crate) fn component(props: Value) -> Value {
    json!({
        "id": COMPONENT, "code": "module.exports = {}", "code_hash": "2cf2", "name": "Hello World", "version": "0.0.1",
        "type": "source", "key": "hello-world", "configurable_props": props, "created_at": 1_588_866_900, "updated_at": 1_588_866_900,
    })
}

pub(crate) fn event(id: &str, event: Value, summary: Option<&str>) -> Value {
    let mut metadata = json!({"emit_id": "1btF3Ycb2bLHEHCpLo25wHRcCUG", "name": "", "emitter_id": HELLO});
    if let Some(summary) = summary {
        metadata["summary"] = json!(summary);
    }
    let at_ms: u64 = id.split('-').next().unwrap().parse().unwrap();
    json!({"id": id, "indexed_at_ms": at_ms, "event": event, "metadata": metadata})
}

pub(crate) fn log_line(id: &str, level: &str, message: &str) -> Value {
    let at_ms: u64 = id.split('-').next().unwrap().parse().unwrap();
    json!({"id": id, "run_id": "1btF3Ycb2bLHEHCpLo25wHRcCUG", "at_ms": at_ms, "level": level, "message": message})
}

pub(crate) fn account() -> Fake {
    let fake = Fake::empty();
    fake.page("GET /v1/users/me/sources", &[hello(), ticker()]);
    fake.data(&format!("GET /v1/sources/{HELLO}"), hello());
    let props = json!([
        {"name": "http", "type": "$.interface.http"},
        {"name": "token", "type": "string", "secret": true},
        {"name": "count", "type": "integer", "optional": true, "min": 1, "max": 9},
    ]);
    fake.data(&format!("GET /v1/components/{COMPONENT}"), component(props.clone()));
    fake.data("GET /v1/components/hello-world", component(props.clone()));
    fake.page("GET /v1/users/me/components", &[component(props)]);
    let subscription = |id: &str, emitter: &str, stream: &str| json!({"id": id, "emitter_id": emitter, "listener_id": WEBHOOK, "event_name": stream});
    fake.data("GET /v1/users/me/subscriptions", json!([subscription("sub_Ab0000000001", HELLO, "")]));
    fake.data("GET /v1/users/me/auto_subscriptions", json!([subscription("sub_Ab0000000002", "*", "$errors")]));
    fake.page("GET /v1/users/me/webhooks", &[webhook()]);
    fake.data(&format!("GET /v1/webhooks/{WEBHOOK}"), webhook_with_health());
    fake.page("GET /v1/users/me/dead_letters", &[dead_letter()]);
    let events = [
        event("1589486981597-0", json!({"hello": "moon"}), Some("second")),
        event(
            "1589486980000-0",
            json!({"hello": "world", "text": "a long text that does not fit into a narrow terminal"}),
            None,
        ),
    ];
    fake.page(&format!("GET /v1/sources/{HELLO}/event_summaries"), &events);
    let stream = |name: &str, events: u64| json!({"name": name, "events": events});
    let streams = json!([stream("default", 2), stream("silent", 0), stream("$errors", 0), stream("$logs", 2)]);
    fake.data(&format!("GET /v1/sources/{HELLO}/streams"), streams);
    fake.page("GET /v1/users/me/accounts", &[connected_account()]);
    fake.page("GET /v1/apps", &[json!({"name_slug": "slack", "name": "Slack", "auth_type": "oauth"})]);
    let lines = [
        log_line("1589486981597-1", "error", "Error: no\n    at run (hello.js:3:1)\n"),
        log_line("1589486981597-0", "info", "hello"),
    ];
    fake.page(&format!("GET /v1/sources/{HELLO}/logs"), &lines);
    fake
}

pub(crate) fn webhook() -> Value {
    json!({
        "id": WEBHOOK, "name": "My hook", "description": null, "url": "https://example.com/hook", "active": true,
        "created_at": 1_588_866_900, "updated_at": 1_588_866_900,
    })
}

/// As one webhook is read.
fn webhook_with_health() -> Value {
    let mut webhook = webhook();
    webhook["paused_at_ms"] = json!(1_588_866_900_000_u64);
    webhook["health"] = json!({
        "last_success_ms": 1_588_866_900_000_u64, "failing_since_ms": 1_588_866_960_000_u64,
        "last_failure": {"at_ms": 1_588_867_000_000_u64, "status": 503}, "pending": 7, "pending_is_partial": true,
    });
    webhook
}

pub(crate) fn connected_account() -> Value {
    json!({"id": ACCOUNT, "app": "slack", "name": "Work", "created_at": 1_588_866_900, "updated_at": 1_588_866_900})
}

pub(crate) fn dead_letter() -> Value {
    json!({
        "id": "1btF3Ycb2bLHEHCpLo25wHRcCUG", "emitter": HELLO, "listener": WEBHOOK, "event_name": "default",
        "event_id": "1589486981597-0", "attempts": 8, "reason": "the server answered 500",
        "event": {"event": {"hello": "world"}}, "created_at": 1_588_866_900,
    })
}
