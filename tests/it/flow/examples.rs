//! The workflows of `examples/workflows`, deployed from their files and run against stand-ins of the services they name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rig::receiver::{Answer, Received, Receiver};
use rig::served::{DataFolder, Served};
use rig::wait::until;
use serde_json::{Value, json};

use super::text;
use crate::cli::Developer;
use crate::generated::root;

/// What the services got: host, path and body.
type Calls = Arc<Mutex<Vec<(String, String, Value)>>>;

struct Examples {
    served: Served,
    developer: Developer,
    calls: Calls,
    _place: DataFolder,
    _services: Receiver,
}

// === impl Examples ===

impl Examples {
    async fn start() -> Self {
        let calls = Calls::default();
        let (taking, polls) = (calls.clone(), AtomicUsize::new(0));
        let services = Receiver::start(move |received| {
            let host = received.header("host").to_owned();
            let body = serde_json::from_slice(&received.body).unwrap_or(Value::Null);
            taking.lock().unwrap().push((host.clone(), received.path.clone(), body));
            answer(&host, received, &polls)
        })
        .await;
        let mut place = DataFolder::new();
        let address = services.url("").replace("http://", "");
        place.options.extend(["--dangerous-host-override".to_owned(), format!("*={address}")]);
        let served = place.start().await;
        let developer = Developer::logged_in(&served);
        for store in ["payments", "leads", "uptime"] {
            developer.run(&["data-stores", "create", store]);
        }
        Self { served, developer, calls, _place: place, _services: services }
    }

    fn deploy(&self, name: &str) -> Value {
        let folder = root().join("examples/workflows");
        let file = folder.join(format!("{name}.yaml"));
        self.developer.json(&["workflows", "deploy", file.to_str().unwrap()])
    }

    /// Runs a workflow by hand to its end.
    fn run(&self, name: &str, event: &Value) -> Value {
        self.developer.json(&["workflows", "run", name, "--event", &event.to_string()])
    }

    /// Whether a service was called at a path, with a body that contains this.
    async fn wait_for_call(&self, host: &str, path: &str, contains: &str) -> Value {
        let is_it =
            |call: &&(String, String, Value)| call.0 == host && call.1 == path && call.2.to_string().contains(contains);
        let what = format!("a call of {host}{path} with {contains}");
        until(&what, async || self.calls.lock().unwrap().iter().find(is_it).map(|call| call.2.clone())).await
    }

    fn count(&self, host: &str, path: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| call.0 == host && call.1 == path).count()
    }
}

/// The services, as far as the examples know them.
fn answer(host: &str, received: &Received, polls: &AtomicUsize) -> Answer {
    let json = |value: Value| Answer { body: value.to_string().into(), ..Answer::status(200) };
    match (host, received.path.as_str()) {
        ("api.github.com", _) => json(json!([{"name": "bug"}])),
        ("blog.example.com", _) => json(
            json!({"items": [{"id": 2, "title": "Second", "url": "https://b/2"}, {"id": 1, "title": "First", "url": "https://b/1"}]}),
        ),
        ("bank.example.com", _) => json(json!({"id": "transfer-1"})),
        ("warehouse.example.com", "/items/pen") => json(json!({"available": 3})),
        ("warehouse.example.com", "/items/ink") => json(json!({"available": 0})),
        ("pay.example.com", "/payments/p1") => json(json!({"state": "paid"})),
        ("pay.example.com", "/payments/p2") => json(json!({"state": "open"})),
        ("company.example.com", _) => json(json!({"name": "Acme", "size": 7})),
        ("shops.example.com", "/shops") => json(json!([{"id": "north"}, {"id": "south"}])),
        ("shops.example.com", "/shops/north/sales") => json(json!([{"amount": 1}, {"amount": 2}])),
        ("shops.example.com", _) => json(json!([{"amount": 10}])),
        ("status.example.com", _) => Answer::status(500),
        ("reports.example.com", "/exports") => json(json!({"id": "e1"})),
        ("reports.example.com", "/exports/e1") => match polls.fetch_add(1, Ordering::Relaxed) {
            0..2 => json(json!({"state": "running"})),
            _ => json(json!({"state": "done", "url": "https://reports.example.com/files/e1.csv"})),
        },
        ("reports.example.com", _) => Answer { body: "a\nb\nc".into(), ..Answer::status(200) },
        ("pager.example.com", _) => Answer::status(202),
        ("tickets.example.com", _) => json(json!({"key": "OPS-1"})),
        _ => Answer::status(200),
    }
}

fn returned<'a>(ran: &'a Value, step: &str) -> &'a Value {
    &ran["exports"][step]["$return_value"]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_workflows_do_what_they_say() {
    let examples = Examples::start().await;
    for name in [
        "triage-issues",
        "payment-receipts",
        "feed-to-chat",
        "order-fulfilment",
        "daily-report",
        "uptime",
        "alert-routing",
    ] {
        examples.deploy(name);
    }

    let issue = json!({"number": 7, "title": "Crash with data loss", "body": ""});
    let event = json!({"body": {"action": "opened", "issue": issue, "repository": {"full_name": "a/b"}}});
    assert_eq!(examples.run("triage-issues", &event)["state"], "success");
    examples.wait_for_call("api.github.com", "/repos/a/b/issues/7/labels", "bug").await;
    examples.wait_for_call("hooks.slack.com", "/services/T/B/x", "Urgent: Crash with data loss (#7)").await;
    let closed = examples.run("triage-issues", &json!({"body": {"action": "closed"}}));
    assert_eq!(closed["exit_reason"], "filter opened", "{closed}");

    let object = json!({"receipt_email": "ada@example.com", "amount": 1250, "currency": "eur"});
    let payment = json!({"body": {"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": object}}});
    let first = examples.run("payment-receipts", &payment);
    assert_eq!(returned(&first, "kind"), "Thank you for your payment of 12.50 EUR.", "{first}");
    examples.wait_for_call("api.sendgrid.com", "/v3/mail/send", "ada@example.com").await;
    assert_eq!(examples.run("payment-receipts", &payment)["exit_reason"], "evt_1 was seen before");
    let other = examples.run("payment-receipts", &json!({"body": {"id": "evt_2", "type": "charge.updated"}}));
    assert_eq!(other["exit_reason"], "not a payment");

    let posted = examples.run("feed-to-chat", &json!({}));
    assert_eq!(returned(&posted, "each"), &json!(["First: https://b/1", "Second: https://b/2"]), "{posted}");
    assert_eq!(returned(&examples.run("feed-to-chat", &json!({})), "each"), &json!([]));

    for (item, payment, expected) in [("pen", "p1", json!("shipped")), ("ink", "p1", json!("refunded"))] {
        let ran = examples.run("order-fulfilment", &json!({"body": {"item": item, "payment": payment}}));
        assert_eq!(returned(&ran, "decide"), &expected, "{ran}");
    }
    let unpaid = examples.run("order-fulfilment", &json!({"body": {"item": "pen", "payment": "p2"}}));
    assert_eq!(unpaid["exit_reason"], "not paid", "{unpaid}");
    examples.wait_for_call("pay.example.com", "/refunds", "p1").await;

    let report = examples.run("daily-report", &json!({}));
    assert_eq!(returned(&report, "report"), &json!(["south: 10", "north: 3"]), "{report}");

    let down = examples.run("uptime", &json!({}));
    assert_eq!(returned(&down, "changes"), &json!(["https://status.example.com/down is down"]), "{down}");
    assert_eq!(examples.run("uptime", &json!({}))["exit_reason"], "nothing changed");

    let alert = json!({"body": {"severity": "critical", "service": "api", "message": "slow"}});
    let alerted = examples.run("alert-routing", &alert);
    let channels = &alerted["exports"]["channels"];
    assert_eq!(
        (&channels["page"]["$return_value"], &channels["ticket"]["$return_value"]),
        (&json!("paged"), &json!("OPS-1")),
        "{alerted}"
    );
    let info = examples.run("alert-routing", &json!({"body": {"service": "api", "message": "fine"}}));
    assert_eq!(info["exports"]["channels"], json!({"chat": {"$return_value": "chat"}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_workflows_that_wait_and_answer_do_what_they_say() {
    let examples = Examples::start().await;
    let client = examples.served.client();
    examples.deploy("expense-approval");
    examples.deploy("wait-for-export");
    let answers = examples.deploy("lead-enrichment");

    let paid = examples.run("expense-approval", &json!({"body": {"employee": "ada", "amount": 20}}));
    assert_eq!(returned(&paid, "pay"), "transfer-1", "{paid}");
    let waits = examples.run("expense-approval", &json!({"body": {"employee": "bob", "amount": 500}}));
    assert_eq!(waits["state"], "paused", "{waits}");
    let asked = examples.wait_for_call("chat.example.com", "/api/ask", "bob spent 500").await;
    let url = text(&asked["approve"]);
    let path = url.split_once("/v1/").map(|(_, path)| format!("/v1/{path}")).unwrap();
    client.post(&path, &json!({"approved": true, "by": "cleo"})).await.unwrap().data();
    examples.wait_for_call("bank.example.com", "/transfers", "bob").await;
    assert_eq!(examples.count("bank.example.com", "/transfers"), 2);

    examples.developer.json(&["workflows", "run", "wait-for-export", "--no-wait"]);
    examples.wait_for_call("reports.example.com", "/files/e1.csv", "").await;
    assert_eq!(examples.count("reports.example.com", "/exports/e1"), 3);

    let endpoint = text(&answers["triggers"][0]["endpoint_url"]);
    let known = client.trigger(&endpoint, &json!({"email": "ada@acme.test"})).await.unwrap();
    assert_eq!((known.status, known.json()), (200, json!({"company": "Acme"})));
    let refused = client.trigger(&endpoint, &json!({"email": "nonsense"})).await.unwrap();
    assert_eq!((refused.status, refused.json()["error"].clone()), (422, json!("an e-mail address is needed")));
    let leads = loop {
        let leads = examples.developer.json(&["data-stores", "keys", "leads"]);
        if leads != json!([]) {
            break leads;
        }
    };
    assert_eq!(leads[0]["key"], "ada@acme.test");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_runs_from_its_file_without_a_server() {
    let Examples { served, developer, .. } = Examples::start().await;
    served.kill().await;
    let file = root().join("examples/workflows/alert-routing.yaml");
    let event = json!({"body": {"service": "api", "message": "fine"}}).to_string();

    let ran = developer.run(&["run", file.to_str().unwrap(), "--event", &event]);
    let ran: Value = serde_json::from_str(&ran).unwrap();

    assert_eq!(returned(&ran, "alert")["text"], "[info] api: fine", "{ran}");
    developer.file(
        "fails.yaml",
        "steps:\n  - namespace: fails\n    code: export default { run() { throw new Error('no') } }\n",
    );
    assert_eq!(developer.fail(&["run", "./fails.yaml"]).0, 1);
    developer.file("broken.yaml", "steps:\n  - namespace: x\n    code: '{{'\n");
    let (code, said) = developer.fail(&["run", "./broken.yaml"]);
    assert!(code == 1 && said.contains("does not deploy"), "{code} {said}");
}

#[test]
fn every_example_is_listed() {
    let folder = root().join("examples/workflows");
    let listed = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        count += usize::from(name.ends_with(".yaml"));
        assert!(name == "README.md" || listed.contains(&format!("`{name}`")), "{name}");
    }
    assert_eq!(count, 10);
}
