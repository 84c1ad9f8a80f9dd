//! The sandbox tries itself: it builds a component, runs it, and looks at what came out.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use sandbox::{Config, Limits, Program, Report, Sandbox, Task};
use serde_json::json;

use super::Finding;
use crate::local_services::LocalServices;
use crate::settings::Settings;
use crate::wiring::isolation;
use crate::wiring::network::NetworkArguments;

const COMPONENT: &str = "module.exports = {name: 'self-test', version: '1', run(event) { this.$emit(event.x + 1) }}";

pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let advice = "this machine may lack memory, or a system call may be forbidden: see the message";
    match try_it(settings).await {
        Ok((says, report)) => {
            let isolated = report.as_ref().map(of_workers);
            [Finding::ok("sandbox", says)].into_iter().chain(isolated).collect()
        }
        Err(error) => vec![Finding::fail("sandbox", format!("{error:#}"), advice)],
    }
}

/// What worker processes are locked by. One that could do what it must not would not have started.
fn of_workers(report: &Report) -> Finding {
    let missing: Vec<String> = report
        .layers
        .iter()
        .filter_map(|layer| Some(format!("{} ({})", layer.name, layer.missing.as_ref()?)))
        .collect();
    let refused = format!("a worker was refused all of {} things it tried", report.probes.len());
    if missing.is_empty() {
        let layers: Vec<&str> = report.layers.iter().map(|layer| layer.name.as_str()).collect();
        return Finding::ok("isolation", format!("{refused}; it is locked by {}", layers.join(", ")));
    }
    let advice = "what is missing would be a further layer: a newer kernel or the container's settings may allow it";
    Finding::warn("isolation", format!("{refused}; missing: {}", missing.join(", ")), advice)
}

#[expect(clippy::disallowed_methods, reason = "measures the machine")]
async fn try_it(settings: &Settings) -> Result<(String, Option<Report>)> {
    // The server's own cache when there is one: then the figure is what a start costs.
    let cache = settings.data.join("cache");
    let cache_folder = if cache.is_dir() { Some(cache) } else { crate::run_once::default_cache() };
    let begun = Instant::now();
    let isolation = isolation::of(settings);
    let sandbox = Sandbox::open(Config { cache_folder, isolation, ..Config::default() }).await?;
    let opened_ms = begun.elapsed().as_millis();
    let built = sandbox.build(Arc::new(Program::single("self-test.js", COMPONENT)), Limits::default()).await?;
    let services = Arc::new(LocalServices::new(NetworkArguments::default().open()?));
    let call = json!({"kind": "run", "event": {"x": 1}, "props": {}}).to_string();
    let begun = Instant::now();
    let task = Task { tenant: "doctor", call: &call, limits: Limits::default(), is_urgent: false, replay: None };
    let outcome = sandbox.run(&built.image, task, services).await?;
    let run_us = begun.elapsed().as_micros();
    let emitted: Vec<String> = outcome.emits.iter().map(|emit| emit.event.to_string()).collect();
    if emitted != ["2"] {
        bail!("a component that should have emitted 2 emitted {emitted:?}");
    }
    let says = format!("opened within {opened_ms} ms, ran a component within {run_us} µs");
    Ok((says, sandbox.report().cloned()))
}
