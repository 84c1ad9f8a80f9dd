//! The operator's egress policy on the real binary: for components, webhooks and `component_url` alike.

use rig::served::DataFolder;
use serde_json::json;

use crate::bad_days::{refused, text, wellspring};

const FETCHES: &str = "module.exports = {name: 'fetches', version: '1', \
    async run(event) { try { await fetch(event.url) } catch (error) { this.$emit(String(error.cause ?? error)) } }}";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_operator_denies_is_refused_to_components_webhooks_and_component_urls() {
    let place = DataFolder::new();
    let options = ["--egress-deny", "*.denied.invalid", "--wildcard-domain", "hooks.invalid"];
    let served = place.start_with(&options.map(str::to_owned)).await;
    let client = served.client();
    let source = client.post("/v1/sources", &json!({"component_code": FETCHES})).await.unwrap().data();
    let path = format!("/v1/sources/{}/run", source["id"].as_str().unwrap());

    for (url, says) in [
        ("http://x.denied.invalid/", "x.denied.invalid is denied by a rule about hosts"),
        ("https://x.hooks.invalid/", "x.hooks.invalid is this server itself"),
        ("http://127.0.0.1:8080/", "127.0.0.1 is a loopback address"),
    ] {
        let ran = client.post(&path, &json!({"url": url})).await.unwrap().data();
        let said = ran["emitted"][0]["event"].to_string();
        assert!(said.contains(says), "{url}: {ran}");
    }
    let denied = "https://x.denied.invalid/component.js";
    let webhook = client.post("/v1/webhooks", &json!({"url": denied})).await.unwrap();
    let component = client.post("/v1/components", &json!({"component_url": denied})).await.unwrap();
    assert_eq!((webhook.status, component.status), (422, 422));
    for body in [webhook.body, component.body] {
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("rule about hosts"), "{body}");
    }
}

#[test]
fn a_rule_that_is_none_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();

    let output =
        wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(folder.path()), "--egress-deny", "a:b"]);

    refused(&output, 2, &["`egress_deny` cannot be used", "is not an egress rule"]);
}
