//! `wellspring test`: runs `*.test.js` files beside components. A test runs in a sandbox of its own, and so does every run
//! of a component that it asks for: what passes here passes on a server, with the same limits and the same isolation.
//!
//! A test file is linked like a component, behind a harness (`harness.js`) that collects its tests. `run(…)` in a test is a
//! request to a host name that does not exist; the services of tests (`services.rs`) answer it with the outcome of a run of
//! the component, whose own requests are answered from fixtures (`fixtures.rs`).

mod components;
mod concealing;
mod escapes;
mod files;
mod fixtures;
mod report;
mod services;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use sandbox::{Config, Limits, Sandbox, Task};
use serde_json::{Value, json};

use crate::local_outcome::{self, Rules};
use crate::run_once::{build, default_cache};
use crate::wiring::network::NetworkArguments;

use components::Components;
use fixtures::Mode;
use report::{Report, Verdict};
use services::TestServices;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Test files, or folders to look for them in; this folder when absent
    paths: Vec<PathBuf>,
    /// Only tests whose name holds this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Make the requests of components for real, and keep the answers as fixtures for the next time
    #[arg(long)]
    record: bool,
    /// Print JSON for programs: one line for each test
    #[arg(long)]
    json: bool,
    /// Keep images here, so that the next test of the same code starts sooner
    #[arg(long, value_name = "FOLDER", env = "WELLSPRING_CACHE")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
}

/// What the tests of all files share.
struct Tests {
    sandbox: Sandbox,
    cache: Option<PathBuf>,
    arguments: Arguments,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let files = files::find(&arguments.paths)?;
    if files.is_empty() {
        anyhow::bail!("no tests were found: a test of orders.js is in orders.test.js, beside it");
    }
    let cache = arguments.cache.clone().or_else(default_cache);
    let sandbox = Sandbox::open(Config { cache_folder: cache.clone(), ..Config::default() }).await?;
    let tests = Tests { sandbox, cache, arguments };
    let mut report = Report::new(tests.arguments.json);
    for file in &files {
        report.file(file)?;
        if let Err(error) = tests.run_file(file, &mut report).await {
            report.broken(file, &error)?;
        }
    }
    report.finish()
}

// === impl Tests ===

impl Tests {
    async fn run_file(&self, file: &Path, report: &mut Report) -> Result<()> {
        let collected = remote::collect(file)?;
        let harnessed = files::behind_harness(collected);
        let built = build(&self.sandbox, harnessed, self.cache.as_deref(), &self.arguments.network).await?;
        let components =
            Arc::new(Components::new(self.sandbox.clone(), file, self.cache.clone(), self.arguments.network.clone()));
        let mode = if self.arguments.record { Mode::Record } else { Mode::Play };
        let names = self.names(&built.image).await?;
        for (index, name) in names.iter().enumerate() {
            if self.arguments.filter.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
                continue;
            }
            let services =
                Arc::new(TestServices::new(components.clone(), fixtures::path_of(file, name, &names), mode)?);
            let outcome = self.call(&built.image, &json!({"index": index}), services.clone()).await?;
            let shown = local_outcome::to_json(&outcome, None, Rules::default());
            let mut verdict = Verdict::of(&shown, outcome.usage.wall_clock);
            if let Err(error) = services.keep() {
                verdict = Verdict::Failed { message: format!("{error:#}"), logs: Vec::new() };
            }
            report.test(name, &verdict)?;
        }
        Ok(())
    }

    /// The tests of a file, in their order.
    async fn names(&self, image: &sandbox::Image) -> Result<Vec<String>> {
        let services = Arc::new(TestServices::idle());
        let outcome = self.call(image, &json!({"index": null}), services).await?;
        let shown = local_outcome::to_json(&outcome, None, Rules::default());
        if let Some(error) = shown.get("error").filter(|error| !error.is_null()) {
            anyhow::bail!("{}", report::message_of(error));
        }
        let names = shown.get("returned").and_then(Value::as_array).context("the harness named no tests")?;
        Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    async fn call(
        &self,
        image: &sandbox::Image,
        event: &Value,
        services: Arc<TestServices>,
    ) -> Result<sandbox::Outcome> {
        // An action, because what it returns is told.
        let call = json!({"kind": "action", "event": event, "props": {}}).to_string();
        let limits = Limits { recording_bytes: 0, ..Limits::default() };
        let task = Task { tenant: "local", call: &call, limits, is_urgent: false, replay: None };
        Ok(self.sandbox.run(image, task, services).await?)
    }
}
