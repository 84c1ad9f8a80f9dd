//! The cost of worker processes: the same runs in this process and in workers, in turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sandbox::{Config, Image, Isolation, Limits, Processes, Program, Sandbox, Task, measure};
use serde::Serialize;

use super::statistics::Times;
use wellspring::default_cache;
use wellspring::processes;

/// Short stretches in turns, so that a machine that slows down for a while slows both.
const TURNS: usize = 20;
const WARM_UP: usize = 100;
/// Tenants that run at once: with workers they are spread over the groups.
const LANES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[derive(Serialize)]
pub(super) struct Figures {
    none_p50_us: f64,
    none_p99_us: f64,
    process_p50_us: f64,
    process_p99_us: f64,
    /// Of one tenant, which has one worker.
    none_per_s: f64,
    process_per_s: f64,
    /// Of eight tenants.
    none_many_per_s: f64,
    process_many_per_s: f64,
    start_ms: f64,
    deploy_ms: f64,
}

struct Ways {
    none: (Sandbox, Image),
    process: (Sandbox, Image),
}

pub(super) async fn measure(source: &str, call: &'static str, runs: usize) -> Result<Figures> {
    let none = Sandbox::open(Config { cache_folder: default_cache(), ..Config::default() }).await?;
    let begun = Instant::now();
    let isolation = match processes(None) {
        // Workers are the server's binary, as they are when it runs.
        Isolation::Process(processes) => Isolation::Process(Processes { program: crate::server()?, ..processes }),
        none => none,
    };
    let process = Sandbox::open(Config { cache_folder: default_cache(), isolation, ..Config::default() }).await?;
    let start_ms = begun.elapsed().as_secs_f64() * 1000.0;
    let program = Arc::new(Program::single("trivial.js", source));
    let image = none.build(program.clone(), Limits::default()).await?.image;
    let begun = Instant::now();
    let built = process.build(program, Limits::default()).await?.image;
    let deploy_ms = begun.elapsed().as_secs_f64() * 1000.0;
    let ways = Ways { none: (none, image), process: (process, built) };

    let (mut none, mut process) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        none.extend(time_arrivals(&ways.none, call, runs.div_ceil(TURNS)).await?);
        process.extend(time_arrivals(&ways.process, call, runs.div_ceil(TURNS)).await?);
    }
    let [none_per_s, process_per_s] = ways.throughput(call, &LANES[..1], runs).await?;
    let [none_many_per_s, process_many_per_s] = ways.throughput(call, &LANES, runs).await?;
    let (none, process) = (Times::new(none), Times::new(process));
    Ok(Figures {
        none_p50_us: none.percentile_us(50),
        none_p99_us: none.percentile_us(99),
        process_p50_us: process.percentile_us(50),
        process_p99_us: process.percentile_us(99),
        none_per_s,
        process_per_s,
        none_many_per_s,
        process_many_per_s,
        start_ms,
        deploy_ms,
    })
}

// === impl Ways ===

impl Ways {
    /// Runs per second through all cores, in this process and in workers.
    async fn throughput(&self, call: &'static str, tenants: &'static [&'static str], runs: usize) -> Result<[f64; 2]> {
        let mut took = [Duration::ZERO; 2];
        let mut done = [0; 2];
        for _ in 0..TURNS {
            for ((way, took), done) in [&self.none, &self.process].into_iter().zip(&mut took).zip(&mut done) {
                let begun = Instant::now();
                *done += run_many(way, call, tenants, (runs * 4).div_ceil(TURNS)).await?;
                *took += begun.elapsed();
            }
        }
        let [none, process] = std::array::from_fn(|way| {
            let (done, took): (Option<&i32>, Option<&Duration>) = (done.get(way), took.get(way));
            f64::from(*done.unwrap_or(&0)) / took.map_or(1.0, Duration::as_secs_f64)
        });
        Ok([none, process])
    }
}

/// Runs one after the other, each a task of its own as in a server.
async fn time_arrivals(way: &(Sandbox, Image), call: &'static str, runs: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(runs);
    for round in 0..runs + WARM_UP {
        let way = way.clone();
        let begun = Instant::now();
        let arrival = tokio::spawn(async move { run(&way, call, "a").await.map(|()| begun.elapsed()) });
        let time = arrival.await??;
        if round >= WARM_UP {
            times.push(time);
        }
    }
    Ok(times)
}

async fn run_many(
    way: &(Sandbox, Image),
    call: &'static str,
    tenants: &'static [&'static str],
    runs: usize,
) -> Result<i32> {
    let tasks = std::thread::available_parallelism()?.get() * 4;
    let mut all = tokio::task::JoinSet::new();
    for tenant in tenants.iter().cycle().take(tasks) {
        let way = way.clone();
        all.spawn(async move {
            for _ in 0..runs / tasks {
                run(&way, call, tenant).await?;
            }
            anyhow::Ok(i32::try_from(runs / tasks)?)
        });
    }
    let mut done = 0;
    while let Some(finished) = all.join_next().await {
        done += finished??;
    }
    Ok(done)
}

async fn run((sandbox, image): &(Sandbox, Image), call: &str, tenant: &str) -> Result<()> {
    let task = Task { tenant, call, limits: Limits::default(), is_urgent: false, replay: None };
    let outcome = sandbox.run(image, task, measure::offline_services()).await?;
    ensure!(outcome.fault.is_none(), "the benchmark's component failed: {:?}", outcome.fault);
    Ok(())
}

// === impl Figures ===

impl Figures {
    pub(super) fn print(&self) {
        println!();
        println!("{:<34}{:>14}{:>14}", "--isolate", "none", "process");
        let row = |name: &str, none: f64, process: f64, unit: &str| {
            println!("{name:<34}{none:>11.1} {unit:<2}{process:>11.1} {unit}");
        };
        row("process isolation, p50", self.none_p50_us, self.process_p50_us, "µs");
        row("process isolation, p99", self.none_p99_us, self.process_p99_us, "µs");
        row("process isolation, one tenant", self.none_per_s, self.process_per_s, "/s");
        row("process isolation, eight tenants", self.none_many_per_s, self.process_many_per_s, "/s");
        println!("{:<34}{:>25.1} ms", "process isolation, first worker", self.start_ms);
        println!("{:<34}{:>25.1} ms", "process isolation, deploy", self.deploy_ms);
    }
}
