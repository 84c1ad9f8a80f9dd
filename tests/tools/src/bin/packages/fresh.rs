//! Cold start does not depend on what a component requires: fresh runs with large packages beside one without any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use linker::Entry;
use sandbox::{Image, Limits, Sandbox, Task, measure};

use crate::{Bench, Row};

/// The trivial one first: the others are compared with it.
const COMPONENTS: [(&str, &str); 4] = [
    ("nothing", ""),
    ("axios", "const axios = require('axios');"),
    ("@slack/web-api", "const { WebClient } = require('@slack/web-api');"),
    ("googleapis", "const { google } = require('googleapis');"),
];
const RUN: &str = "module.exports = {name: 'fresh', version: '1', run(event) { this.$emit(event, {id: event.id}); }};";
const CALL: &str = r#"{"kind":"run","event":{"id":1,"body":{"hello":"world"}}}"#;
const ROUNDS: usize = 20;
const RUNS_PER_ROUND: usize = 100;

/// Prints, per component: deploy with a warm cache, image, first run after a restart, fresh runs.
pub(crate) async fn report(bench: &Bench) -> Result<()> {
    let mut images: Vec<(&str, Image, Duration, Duration)> = Vec::new();
    for (name, requires) in COMPONENTS {
        let entry = Entry { filename: "fresh.js".to_owned(), source: format!("{requires}\n{RUN}"), ..Entry::default() };
        let linked = bench.install(&mut Row::default(), entry).await?;
        let linked = linked.map_err(anyhow::Error::msg)?;
        let program = Arc::new(tools::program::translate(linked));
        let started = Instant::now();
        let image = bench.sandbox.build(program.clone(), crate::loading()).await?.image;
        let build = started.elapsed();
        images.push((name, image, build, first_run(bench, &program).await?));
    }
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); images.len()];
    // In turns, so that a busy moment of the machine counts for all.
    for round in 0..=ROUNDS {
        for ((_, image, ..), times) in images.iter().zip(&mut times) {
            for _ in 0..RUNS_PER_ROUND {
                let took = fresh_run(&bench.sandbox, image).await?;
                if round > 0 {
                    times.push(took);
                }
            }
        }
    }
    print(bench, &images, times)
}

fn print(bench: &Bench, images: &[(&str, Image, Duration, Duration)], times: Vec<Vec<Duration>>) -> Result<()> {
    println!(
        "\n{:<36}{:>9}{:>9}{:>13}{:>13}{:>9}",
        "component with", "build ms", "image MB", "first run µs", "fresh p50 µs", "ratio"
    );
    let mut trivial = None;
    for ((name, image, build, first), mut times) in images.iter().zip(times) {
        times.sort_unstable();
        let p50 = times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e6;
        let ratio = p50 / *trivial.get_or_insert(p50);
        let megabytes = measure::sizes(&bench.sandbox, image).image as f64 / 1e6;
        println!("{name:<36}{:>9}{megabytes:>9.1}{:>13}{p50:>13.0}{ratio:>8.2}×", build.as_millis(), first.as_micros());
    }
    Ok(())
}

/// In a sandbox that never saw the image, so that it is mapped from its file. The second run of it is taken off.
async fn first_run(bench: &Bench, program: &Arc<sandbox::Program>) -> Result<Duration> {
    let other = Sandbox::open(bench.sandbox_config.clone()).await?;
    let started = Instant::now();
    let image = other.image(program, Limits::default()).await?;
    fresh_run(&other, &image).await?;
    let first = started.elapsed();
    Ok(first.saturating_sub(fresh_run(&other, &image).await?))
}

async fn fresh_run(sandbox: &Sandbox, image: &Image) -> Result<Duration> {
    let started = Instant::now();
    let task = Task { tenant: "fresh", call: CALL, limits: Limits::default(), is_urgent: false, replay: None };
    let outcome = sandbox.run(image, task, measure::offline_services()).await?;
    ensure!(outcome.fault.is_none(), "{:?}", outcome.fault);
    Ok(started.elapsed())
}
