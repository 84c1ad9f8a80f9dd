//! What is decided here and not by npm: packages of our own, packages that cannot work, and whom a tarball may come from.

use serde_json::json;

use super::{code, registry};
use crate::{
    Blame, LinkError, Need,
    testing::{entry, link, run_linked},
};

/// Stands for axios: answers with what it was given.
const AXIOS: &str = "
const answer = async (config) => {
  if (config.url === 'bad') throw Object.assign(new Error('Request failed'), { response: { status: 400, data: { reason: 'no' }, config } });
  return { data: config, status: 200, headers: {}, config };
};
module.exports = Object.assign(answer, { default: answer });";

#[tokio::test]
async fn pipedreams_platform_is_built_in_whatever_version_is_asked_for() {
    let registry = registry();
    registry.publish("axios", "1.9.0", &json!({}), &[("index.js", AXIOS)]);
    registry.publish(
        "helper",
        "1.0.0",
        &json!({ "dependencies": { "@pipedream/platform": "1.5.1" } }),
        &[("index.js", "exports.same = require('@pipedream/platform').axios")],
    );
    let source = "
const platform = require('@pipedream/platform@^2');
const exported = [];
const $ = { export: (name, value) => exported.push(name, value.status) };
(async () => {
  const data = await platform.axios($, { url: 'good', params: { a: 1, b: undefined } });
  const whole = await platform.axios($, { url: 'good', returnFullResponse: true, debug: true });
  const failed = await platform.axios($, { url: 'bad' }).catch((error) => error.message);
  console.log(JSON.stringify([data, whole.status, failed, exported]));
  console.log(platform.DEFAULT_POLLING_SOURCE_TIMER_INTERVAL, new platform.ConfigurationError('x').name);
  console.log(require('helper').same === platform.axios, typeof require('@pipedreamhq/platform').axios);
})();";

    let linked = link(registry, &entry(source)).await.unwrap();

    assert_eq!(
        run_linked(&linked),
        "[{\"url\":\"good\",\"params\":{\"a\":1}},200,\"{\\\"reason\\\":\\\"no\\\"}\",[\"debug\",200,\"debug\",400]]\n\
         900 ConfigurationError\ntrue function\n"
    );
}

#[tokio::test]
async fn packages_that_need_what_a_component_does_not_have_are_refused_with_the_reason() {
    for (name, need) in [("pg", Need::Sockets), ("puppeteer", Need::Processes), ("sharp", Need::NativeCode)] {
        let error = link(registry(), &entry(&format!("require('{name}@^1')"))).await.unwrap_err();

        let LinkError::Located { source: inner, .. } = &error else { panic!("{error:?}") };
        assert!(
            matches!(&**inner, LinkError::UnsupportedPackage { package, need: found } if package == name && *found == need)
        );
        assert_eq!((error.code(), error.blame()), ("unsupported_package", Blame::Author));
        assert!(error.to_string().contains(name) && error.to_string().contains(&need.to_string()));
    }
}

#[tokio::test]
async fn a_component_may_try_for_what_cannot_work() {
    let source = "let pg; try { pg = require('pg'); } catch { pg = 'without'; } console.log(pg)";

    let linked = link(registry(), &entry(source)).await.unwrap();

    assert_eq!(run_linked(&linked), "without\n");
}

#[tokio::test]
async fn a_tarball_comes_from_a_configured_registry_and_from_nowhere_else() {
    let registry = registry();
    for (name, tarball) in [
        ("inside", "http://169.254.169.254/latest/meta-data"),
        ("elsewhere", "https://evil.test/file.tgz"),
        ("other-port", "https://registry.test:8443/file.tgz"),
        ("plain", "http://registry.test/file.tgz"),
    ] {
        registry.publish(name, "1.0.0", &json!({ "dist": { "tarball": tarball, "integrity": "sha512-x" } }), &[]);

        let refused = code(&registry, &format!("require('{name}')")).await;

        assert_eq!(refused, ("foreign_tarball", Blame::Unavailable), "{tarball}");
        let asked: Vec<String> = registry.requests.lock().unwrap().iter().map(|(path, _)| path.clone()).collect();
        assert!(!asked.iter().any(|path| path == tarball), "{asked:?}");
    }
}
