//! The sandbox tries itself: it builds a component, runs it, and looks at what came out.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use sandbox::{Config, Limits, Program, Sandbox, Task};
use serde_json::json;

use super::Finding;
use crate::local_services::LocalServices;
use crate::wiring::network::NetworkArguments;

const COMPONENT: &str = "module.exports = {name: 'self-test', version: '1', run(event) { this.$emit(event.x + 1) }}";

pub(super) async fn check(data: &Path) -> Finding {
    let advice = "this machine may lack memory, or a system call may be forbidden: see the message";
    match try_it(data).await {
        Ok(says) => Finding::ok("sandbox", says),
        Err(error) => Finding::fail("sandbox", format!("{error:#}"), advice),
    }
}

async fn try_it(data: &Path) -> Result<String> {
    // The server's own cache when there is one: then the figure is what a start costs.
    let cache = data.join("cache");
    let cache_folder = if cache.is_dir() { Some(cache) } else { crate::run_once::default_cache() };
    let begun = Instant::now();
    let sandbox = Sandbox::open(Config { cache_folder, ..Config::default() }).await?;
    let opened_ms = begun.elapsed().as_millis();
    let built = sandbox.build(Arc::new(Program::single("self-test.js", COMPONENT)), Limits::default()).await?;
    let services = Arc::new(LocalServices::new(NetworkArguments::default().open()?));
    let call = json!({"kind": "run", "event": {"x": 1}, "props": {}}).to_string();
    let begun = Instant::now();
    let task = Task { lane: "doctor", call: &call, limits: Limits::default(), is_urgent: false };
    let outcome = sandbox.run(&built.image, task, services).await?;
    let run_us = begun.elapsed().as_micros();
    let emitted: Vec<String> = outcome.emits.iter().map(|emit| emit.event.to_string()).collect();
    if emitted != ["2"] {
        bail!("a component that should have emitted 2 emitted {emitted:?}");
    }
    Ok(format!("opened within {opened_ms} ms, ran a component within {run_us} µs"))
}
