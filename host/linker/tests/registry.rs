//! Against the real registry, the one that npm on this machine is configured for, and against npm.
//!
//! Runs when `WELLSPRING_REGISTRY_TESTS` is set, because it needs the network, `node` and `npm`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a test may fail"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use linker::{Config, Entry, Fetch, FetchError, FetchResponse, Linked, Linker, Registry};
use outbound::{Outbound, Request};
use serde_json::Value;

struct Network(Outbound);

#[async_trait]
impl Fetch for Network {
    async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        limit_bytes: u64,
    ) -> Result<FetchResponse, FetchError> {
        let fail = |error: outbound::Error| match error {
            outbound::Error::ResponseTooLarge { limit_bytes } => FetchError::TooLarge { limit_bytes },
            error => FetchError::Unreachable { cause: error.to_string() },
        };
        let mut request = Request::get(url).map_err(fail)?;
        request.max_response_bytes = Some(limit_bytes);
        for (name, value) in headers {
            request = request.header(name, value.clone());
        }
        let response = self.0.send(request).await.map_err(fail)?;
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers = response.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let status = response.status.as_u16();
        Ok(FetchResponse { status, headers, body: response.body.collect(limit_bytes).await.map_err(fail)? })
    }
}

fn is_wanted() -> bool {
    let is_wanted = std::env::var_os("WELLSPRING_REGISTRY_TESTS").is_some();
    if !is_wanted {
        eprintln!("skipped: set WELLSPRING_REGISTRY_TESTS to run");
    }
    is_wanted
}

fn linker(cache: &Path) -> Linker {
    let config = outbound::Config { dangerous_allow_private_networks: true, ..outbound::Config::default() };
    let network = Network(Outbound::new(config).unwrap());
    let mut config = Config::new(cache.to_owned(), Registry::from_npm_configuration(None));
    // npm below runs on this machine's Node.
    config.node_version = node(&["-p", "process.versions.node"], "").trim().to_owned();
    Linker::new(config, Arc::new(network))
}

fn entry(source: &str) -> Entry {
    Entry { filename: "entry.js".to_owned(), source: source.to_owned(), ..Entry::default() }
}

fn node(arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("node");
    let mut child =
        command.arg("--no-warnings").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn run(linked: &Linked) -> String {
    node(&["-e", include_str!("../src/testing/loader.js")], &serde_json::to_string(linked).unwrap())
}

#[tokio::test]
async fn popular_packages_link_and_run_with_a_common_js_loader_alone() {
    if !is_wanted() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let linker = linker(cache.path());
    let cases = [
        ("const axios = require('axios'); console.log(typeof axios.get, axios.VERSION.split('.')[0])", "function 1\n"),
        ("console.log(require('axios@0.21.1').VERSION || require('axios@0.21.1/package.json').version)", "0.21.1\n"),
        ("console.log(require('lodash').chunk([1, 2, 3], 2).length, require('lodash/chunk')([1], 1).length)", "2 1\n"),
        ("const { v4, validate } = require('uuid'); console.log(validate(v4()))", "true\n"),
        (
            "const { WebClient } = require('@slack/web-api'); console.log(typeof new WebClient('t').chat.postMessage)",
            "function\n",
        ),
        ("console.log(require('date-fns').format(new Date(2020, 1, 2), 'yyyy-MM-dd'))", "2020-02-02\n"),
        ("import { nanoid } from 'nanoid'; console.log(nanoid().length)", "21\n"),
        ("console.log(require('nanoid').nanoid(5).length)", "5\n"),
        ("import got from 'got'; console.log(typeof got.get, typeof got.extend({}).post)", "function function\n"),
        ("import('got').then(({ default: got }) => console.log(typeof got))", "function\n"),
        ("const { DateTime } = require('luxon'); console.log(DateTime.utc(2020, 2, 2).toISODate())", "2020-02-02\n"),
        ("import { DateTime } from 'luxon'; console.log(DateTime.utc(2020, 2, 2).toISODate())", "2020-02-02\n"),
        ("import * as fns from 'date-fns'; console.log(fns.addDays(new Date(0), 1).getTime())", "86400000\n"),
    ];
    for (source, expected) in cases {
        let started = Instant::now();
        let linked = linker.link(&entry(source), &|_| {}).await.unwrap_or_else(|error| panic!("{source}: {error}"));
        let took = started.elapsed();

        let printed = run(&linked);

        println!(
            "{took:>8.0?} {:>4} modules {:>3} packages  {source}",
            linked.modules.len(),
            linked.dependencies.len()
        );
        assert_eq!(printed, expected, "{source}");
    }
}

/// Packages that real components use most.
const COMMON: [&str; 35] = [
    "axios",
    "axios@0.21.1",
    "lodash",
    "rss-parser",
    "uuid",
    "dayjs",
    "moment",
    "@slack/web-api",
    "googleapis",
    "@googleapis/gmail",
    "aws-sdk",
    "@aws-sdk/client-s3",
    "cheerio",
    "html-to-text",
    "jsonwebtoken",
    "stripe",
    "twilio",
    "@octokit/core",
    "@octokit/rest",
    "fast-xml-parser",
    "form-data",
    "bottleneck",
    "nodemailer",
    "node-fetch",
    "got",
    "superagent",
    "qs",
    "async-retry",
    "nanoid",
    "luxon",
    "he",
    "crypto-js",
    "object-hash",
    "shopify-api-node",
    "airtable",
];

#[tokio::test]
async fn common_packages_evaluate_however_they_are_loaded() {
    if !is_wanted() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let linker = linker(cache.path());
    let mut failures = Vec::new();
    for name in COMMON {
        for source in [
            format!("console.log(typeof require('{name}'))"),
            format!("import * as all from '{name}'; console.log(typeof all)"),
        ] {
            let started = Instant::now();
            let linked = linker.link(&entry(&source), &|_| {}).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let took = started.elapsed();
            let printed = run(&linked);
            println!(
                "{took:>8.0?} {:>4} modules {:>3} packages  {source} {:?}",
                linked.modules.len(),
                linked.dependencies.len(),
                linked.warnings.len()
            );
            if !matches!(printed.as_str(), "object\n" | "function\n") {
                failures.push(source);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[tokio::test]
async fn axios_is_linked_cold_and_warm() {
    if !is_wanted() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let source = entry("module.exports = require('axios')");
    let mut times = Vec::new();
    for _ in 0..4 {
        let linker = linker(cache.path());
        let started = Instant::now();
        let linked = linker.link(&source, &|_| {}).await.unwrap();
        times.push((started.elapsed(), linked));
    }
    let relinked = {
        let linker = linker(cache.path());
        let started = Instant::now();
        let linked = linker.relink(&source, &times[0].1.dependencies, &|_| {}).await.unwrap();
        (started.elapsed(), linked)
    };

    let shown: Vec<Duration> = times.iter().map(|(time, _)| *time).collect();
    println!("axios: cold {:.0?}, warm {:.1?}, relinked {:.1?}", shown[0], &shown[1..], relinked.0);
    assert!(times.iter().all(|(_, linked)| *linked == times[0].1), "the same every time");
    assert_eq!(relinked.1.modules, times[0].1.modules);
}

/// The tree that npm makes, as location and version.
fn npm_tree(dependencies: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let manifest = serde_json::json!({ "name": "x", "version": "1.0.0", "dependencies": dependencies });
    std::fs::write(folder.path().join("package.json"), manifest.to_string()).unwrap();
    let arguments = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    let status = Command::new("npm").args(arguments).current_dir(folder.path()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    let lock: Value = serde_json::from_slice(&std::fs::read(folder.path().join("package-lock.json")).unwrap()).unwrap();
    let packages = lock["packages"].as_object().unwrap().iter();
    packages
        .filter(|(location, package)| !location.is_empty() && package["inBundle"] != true)
        .map(|(location, package)| format!("{location} {}", package["version"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn the_tree_is_the_one_npm_makes() {
    if !is_wanted() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let linker = linker(cache.path());
    let cases: [&[(&str, &str)]; 12] = [
        &[("express", "^4")],
        &[("@slack/web-api", "^7"), ("axios", "0.21.1")],
        &[("googleapis", "^140")],
        &[("aws-sdk", "^2"), ("uuid", "^9")],
        &[("@aws-sdk/client-s3", "3.600.0")],
        &[("eslint", "^8")],
        &[("jest", "^29")],
        &[("webpack", "^5"), ("webpack-cli", "^5")],
        &[("react-dom", "^18"), ("@mui/material", "^5"), ("@emotion/react", "^11")],
        &[("@octokit/rest", "^20"), ("@octokit/core", "^5"), ("probot", "^13")],
        &[("twilio", "^4"), ("request", "^2"), ("gulp", "^4")],
        &[("mocha", "^10"), ("nyc", "^15"), ("chai", "^4"), ("sinon", "^17"), ("karma", "^6")],
    ];
    let mut differing = Vec::new();
    for case in cases {
        let dependencies: BTreeMap<&str, &str> = case.iter().copied().collect();
        let requires = dependencies.iter().map(|(name, range)| format!("require('{name}@{range}')\n"));
        let linked = linker.resolve(&entry(&requires.collect::<String>()), &|_| {}).await.unwrap();
        let ours: BTreeSet<String> =
            linked.iter().map(|dependency| format!("{} {}", dependency.location, dependency.version)).collect();
        let theirs = npm_tree(&dependencies);

        println!("{:?}: {} packages", dependencies.keys().collect::<Vec<_>>(), theirs.len());
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let added: Vec<_> = ours.difference(&theirs).collect();
        if !missing.is_empty() || !added.is_empty() {
            println!("  only npm: {missing:?}\n  only we: {added:?}");
            differing.push(case);
        }
    }
    assert!(differing.is_empty(), "{differing:?}");
}
