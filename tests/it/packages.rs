//! Packages and addresses, from a registry to a run: the real server, the real linker, the real sandbox.

use std::os::unix::fs::PermissionsExt;

use rig::client::Client;
use rig::served::{DataFolder, Served, binary};
use serde_json::{Value, json};

use crate::registry::{Registry, archive};

const MANIFEST: (&str, &str) = ("package/package.json", "{\"main\": \"index.js\"}");

/// A server whose packages come from `registry`.
async fn serve(place: &DataFolder, registry: &str) -> Served {
    let program = place.data().join("with-registry");
    let script = format!("#!/bin/sh\nNPM_CONFIG_REGISTRY={registry} exec {} \"$@\"\n", binary().display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Packages of its own: what another test downloaded must not help. The compiled engine is shared.
    let cache = place.data().join("cache");
    let shared = std::fs::read_link(&cache).unwrap();
    std::fs::remove_file(&cache).unwrap();
    std::fs::create_dir(&cache).unwrap();
    for kind in ["engine", "base"] {
        std::fs::create_dir_all(shared.join(kind)).unwrap();
        std::os::unix::fs::symlink(shared.join(kind), cache.join(kind)).unwrap();
    }
    place.start_through(&program).await
}

fn component(code: &str) -> Value {
    json!({"component_code": format!("{code}\nmodule.exports = {{name: 'x', version: '1', props: {{http: '$.interface.http'}}, run() {{ this.$emit(value) }}}};")})
}

async fn emitted(client: &Client, source: &Value) -> Value {
    let id = source["id"].as_str().unwrap();
    client.post(&format!("/v1/sources/{id}/run"), &json!({})).await.unwrap().success().unwrap();
    client.events(id, "").await.unwrap().last().map(|event| event["event"].clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_with_packages_is_deployed_listed_and_run() {
    let mut registry = Registry::new().await;
    registry
        .publish(
            "first",
            &json!({"second": "^1"}),
            &[MANIFEST, ("package/index.js", "exports.name = 'first'; exports.next = () => require('second').name")],
        )
        .publish(
            "second",
            &json!({"first": "*"}),
            &[MANIFEST, ("package/index.js", "exports.name = `second of ${require('first').name}`")],
        );
    let url = registry.url();
    registry.open();
    let place = DataFolder::new();
    let server = serve(&place, &url).await;
    let client = server.client();

    let source = client
        .post("/v1/sources", &component("const value = {text: require('first@^1').next()};"))
        .await
        .unwrap()
        .data();
    let saved =
        client.get(&format!("/v1/components/{}", source["component_id"].as_str().unwrap())).await.unwrap().data();

    assert_eq!(emitted(&client, &source).await, json!({"text": "second of first"}));
    let listed: Vec<Value> = saved["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| json!([found["name"], found["version"], found["location"]]))
        .collect();
    assert_eq!(
        listed,
        [json!(["first", "1.0.0", "node_modules/first"]), json!(["second", "1.0.0", "node_modules/second"])]
    );
    assert!(saved["dependencies"][0]["integrity"].as_str().unwrap().starts_with("sha512-"));
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_that_await_outside_of_functions_are_waited_for() {
    let mut registry = Registry::new().await;
    let manifest = ("package/package.json", "{\"main\": \"index.js\", \"type\": \"module\"}");
    registry.publish("waits", &json!({}), &[manifest, ("package/index.js", "export const value = await 'theirs'")]);
    let url = registry.url();
    registry.open();
    let place = DataFolder::new();
    let server = serve(&place, &url).await;
    let client = server.client();
    let deploy = |code: &str| json!({"component_code": code, "filename": "x.mjs"});
    let waits = "import { value } from 'waits';\nconst own = await new Promise((resolve) => setTimeout(resolve, 5, 'own'));\n\
                 export default {name: 'x', version: '1', run() { this.$emit([value, own]); }};";
    let fails = "await null;\nthrow new Error('too late');\nexport default {name: 'x', version: '1', run() {}};";

    let source = client.post("/v1/sources", &deploy(waits)).await.unwrap().data();
    let refused = client.post("/v1/sources", &deploy(fails)).await.unwrap();

    assert_eq!(emitted(&client, &source).await, json!(["theirs", "own"]));
    let (answer, status) = (refused.json(), refused.status);
    assert_eq!(
        (status, &answer["code"], &answer["details"]["line"]),
        (422, &json!("component_does_not_load"), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_linked_is_told_and_nothing_is_deployed() {
    let mut registry = Registry::new().await;
    let fine = [MANIFEST, ("package/index.js", "")];
    registry
        .publish("known", &json!({}), &fine)
        .publish("outside", &json!({}), &[MANIFEST, ("package/../../etc/passwd", "x")])
        .publish("needs-git", &json!({"other": "git+https://example.com/x.git"}), &fine)
        .publish_as("damaged", &json!({}), archive(&fine), "sha512-AAAA")
        .publish_as(
            "no-archive",
            &json!({}),
            "hello".into(),
            "sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==",
        );
    let url = registry.url();
    registry.open();
    let place = DataFolder::new();
    let server = serve(&place, &url).await;
    let client = server.client();
    let cases = [
        ("\n  require('unknown')", 422, "package_not_found", "unknown", Some((2, 11))),
        ("require('known@^7')", 422, "version_not_found", "1.0.0", Some((1, 9))),
        ("require('known/missing')", 422, "file_not_found", "known/missing", Some((1, 9))),
        ("require(\n  './missing')", 422, "file_not_found", "./missing", Some((2, 3))),
        ("require('outside')", 422, "corrupt_package", "outside", None),
        ("require('no-archive')", 422, "corrupt_package", "archive", None),
        ("require('needs-git')", 422, "unsupported_dependency", "git+https", None),
        ("require('mysql2')", 422, "unsupported_package", "HTTP", Some((1, 9))),
        ("require('damaged')", 503, "integrity_mismatch", "checksum", None),
        ("let x;\nconst x = 5", 422, "syntax_error", "component.js", Some((1, 5))),
    ];

    for (code, status, error, says, place) in cases {
        let reply = client.post("/v1/sources", &component(&format!("{code}; const value = 1;"))).await.unwrap();

        let answer = reply.json();
        assert_eq!((reply.status, &answer["code"]), (status, &json!(error)), "{code}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(says), "{code}: {answer}");
        if let Some((line, column)) = place {
            let place = json!({"file": "/component/component.js", "line": line, "column": column});
            assert_eq!(answer["details"], place, "{code}: {answer}");
        }
    }
    assert_eq!(client.list("/v1/users/me/sources").await.unwrap(), Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_down_is_not_the_authors_mistake() {
    // A port that was free a moment ago, without a listener.
    let url = Registry::new().await.url();
    let place = DataFolder::new();
    let server = serve(&place, &url).await;
    let client = server.client();

    let reply = client.post("/v1/sources", &component("const value = require('known');")).await.unwrap();

    assert_eq!((reply.status, &reply.json()["code"]), (503, &json!("registry_unreachable")), "{}", reply.text());
    let without = client.post("/v1/sources", &component("const value = 1;")).await.unwrap();
    assert_eq!(without.status, 200, "components without packages need no registry: {}", without.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_fetched_from_its_address_with_the_files_beside_it() {
    let entry = "const app = require('../../service.app.js');\nconst { twice } = require('./common/math');\n\
                 module.exports = {name: 'Fetched', version: '1', props: {http: '$.interface.http'},\n\
                 run() { this.$emit({app: app.name, four: twice(2), list: require('../data.json')}) }};";
    let mut registry = Registry::new().await;
    registry
        .file("/components/service/sources/new-thing.js", entry)
        .file("/components/service.app.js", "wrong")
        .file("/service.app.js", "wrong too")
        .file("/components/service/data.json", "[1, 2]")
        .file("/components/service/sources/common/math.js", "exports.twice = (n) => n * require('./two');")
        .file("/components/service/sources/common/two.js", "module.exports = 2;");
    registry.file("/components/service.app.js", "module.exports = {name: 'service'};");
    let url = registry.url();
    registry.open();
    let place = DataFolder::new();
    let server = serve(&place, &url).await;
    let client = server.client();

    let address = format!("{url}components/service/sources/new-thing.js");
    let source = client.post("/v1/sources", &json!({"component_url": address})).await.unwrap().data();
    let missing = client.post("/v1/sources", &json!({"component_url": format!("{url}nothing.js")})).await.unwrap();

    assert_eq!(emitted(&client, &source).await, json!({"app": "service", "four": 4, "list": [1, 2]}));
    assert_eq!(source["name"], "fetched");
    assert!((400..500).contains(&missing.status), "{}", missing.text());
}
