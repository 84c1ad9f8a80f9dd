//! `just bench sandbox`.
//!
//! Four components: one that emits its event, the same with a megabyte of dependencies, and one that
//! only computes. Everything is measured in one process, one after the other, so ratios hold whatever the machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sandbox::measure::{self, Warm, WithoutImage};
use sandbox::{Config, Image, Limits, Outcome, Program, Sandbox, Task};
use serde::Serialize;

use super::isolation;
use super::statistics::Times;
use wellspring::default_cache;

const TRIVIAL: &str =
    "module.exports = {name: 'trivial', version: '1', run(event) { this.$emit(event, {id: event.id}); }};";
const CPU_BOUND: &str = "
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
module.exports = {name: 'cpu', version: '1', run() {
  const rows = [];
  for (let i = 0; i < 2000; i++) rows.push({i, text: 'row ' + i, nested: {a: [i, i + 1]}});
  if (fib(21) + JSON.parse(JSON.stringify(rows)).length !== 12946) throw new Error('wrong');
}};";
/// Where the linker puts packages.
const DEPENDENCIES_PATH: &str = "/node_modules/deps/index.js";
const ATTACKER: &str = "module.exports = {name: 'attacker', version: '1', run() { for (;;); }};";
const CALL: &str =
    r#"{"kind":"run","event":{"id":1,"body":{"hello":"world"},"headers":{"content-type":"application/json"}}}"#;
const WARM_UP: usize = 300;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Runs per figure
    #[arg(long, default_value_t = 5000)]
    runs: usize,
    /// Only what worker processes cost
    #[arg(long)]
    isolation: bool,
}

#[derive(Serialize)]
struct Report {
    trivial: Figures,
    deps_1mb: Figures,
    cpu_bound_ms: f64,
    prelude: Prelude,
    images: Images,
    neighbour: Neighbour,
    isolation: isolation::Figures,
}

/// The trivial component on the whole prelude and on its core alone, measured in turns.
#[derive(Serialize)]
struct Prelude {
    whole_fresh_p50_us: f64,
    core_fresh_p50_us: f64,
}

#[derive(Serialize)]
struct Figures {
    fresh_p50_us: f64,
    fresh_p99_us: f64,
    warm_p50_us: f64,
    no_image_p50_us: f64,
    per_s: f64,
    first_run_us: f64,
    deploy_ms: f64,
    image_bytes: usize,
    pages_written: usize,
    page_regions_written: usize,
}

/// A well-behaved tenant's runs, alone and beside one that spins on every core.
#[derive(Serialize)]
struct Neighbour {
    /// Of each kind.
    arrivals: usize,
    quiet_p99_us: f64,
    attacked_p99_us: f64,
}

#[derive(Serialize)]
struct Images {
    base_bytes: usize,
    trivial_beyond_base_bytes: i64,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let talk = |text: &str| {
        if !arguments.json {
            eprintln!("{text}");
        }
    };
    if arguments.isolation {
        let figures = isolation::measure(TRIVIAL, CALL, arguments.runs).await?;
        if !arguments.json {
            figures.print();
        }
        println!("{}", serde_json::to_string(&figures)?);
        return Ok(());
    }
    talk("opening the sandbox (compiles the engine once)");
    let sandbox = Sandbox::open(Config { cache_folder: default_cache(), ..Config::default() }).await?;
    talk("deploying a trivial component, one with 1 MB of dependencies, and one on the core of the prelude");
    let trivial = Deployed::new(&sandbox, "trivial.js", TRIVIAL.to_owned()).await?;
    let deps_1mb = Deployed::new(&sandbox, DEPENDENCIES_PATH, with_dependencies()).await?;
    let core = measure::core_image(&sandbox, Arc::new(Program::single("trivial.js", TRIVIAL))).await?;
    talk("measuring them in turns, fresh and warm");
    let [of_trivial, of_deps, of_core] =
        measure_in_turns(&sandbox, [&trivial.image, &deps_1mb.image, &core], arguments.runs).await?;
    let prelude = Prelude {
        whole_fresh_p50_us: of_trivial.fresh.percentile_us(50),
        core_fresh_p50_us: of_core.fresh.percentile_us(50),
    };
    talk("measuring them without an image, and through all cores");
    let image = trivial.image.clone();
    let trivial = trivial.measure(&sandbox, of_trivial, arguments.runs).await?;
    let deps_1mb = deps_1mb.measure(&sandbox, of_deps, arguments.runs).await?;
    talk("measuring a CPU-bound component");
    let cpu_bound_ms = time_cpu(&sandbox).await?;
    talk("measuring a neighbour while an attacker spins");
    let neighbour = measure_neighbour(&sandbox, &image, arguments.runs).await?;
    talk("measuring runs in this process and in worker processes, in turns");
    let isolation = isolation::measure(TRIVIAL, CALL, arguments.runs).await?;
    let sizes = measure::sizes(&sandbox, &image);
    let images = Images {
        base_bytes: sizes.base_image,
        trivial_beyond_base_bytes: sizes.image as i64 - sizes.base_image as i64,
    };
    let report = Report { trivial, deps_1mb, cpu_bound_ms, prelude, images, neighbour, isolation };
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// A megabyte of library-like source: many small functions and tables, all evaluated at load.
fn with_dependencies() -> String {
    let mut source = String::with_capacity(1 << 20);
    let mut index = 0;
    while source.len() < 1 << 20 {
        source.push_str(&format!(
            "exports.f{index} = function (value, options) {{ options = options || {{}}; \
             if (typeof value !== 'object') return {{ok: false, at: {index}, value: value}}; \
             return Object.keys(value).map(function (key) {{ return [key, value[key], options.depth || {index}]; }}); }};\n\
             exports.t{index} = {{name: 'entry {index}', tags: ['a{index}', 'b{index}'], weight: {index} / 7}};\n"
        ));
        index += 1;
    }
    source.push_str(TRIVIAL);
    source
}

/// A component that was deployed, and what that took.
struct Deployed {
    image: Image,
    deploy_ms: f64,
    first_run_us: f64,
}

/// How long runs of one image take.
struct Pace {
    fresh: Times,
    warm: Times,
}

// === impl Deployed ===

impl Deployed {
    async fn new(sandbox: &Sandbox, name: &str, source: String) -> Result<Self> {
        let program = Arc::new(Program::single(name, source));
        let deploy = Instant::now();
        let image = sandbox.build(program.clone(), Limits::default()).await?.image;
        let deploy_ms = deploy.elapsed().as_secs_f64() * 1000.0;

        // A second sandbox has never seen the image: its first run maps it from its file.
        let other = Sandbox::open(Config { cache_folder: default_cache(), ..Config::default() }).await?;
        let first = Instant::now();
        let mapped = other.image(&program, Limits::default()).await?;
        fresh_run(&other, &mapped).await?;
        Ok(Self { image, deploy_ms, first_run_us: first.elapsed().as_secs_f64() * 1e6 })
    }

    async fn measure(self, sandbox: &Sandbox, pace: Pace, runs: usize) -> Result<Figures> {
        let no_image = time_without_image(sandbox, &self.image, (runs / 250).max(5)).await?;
        let per_s = throughput(sandbox, &self.image, runs * 8).await?;
        let written = measure::written(sandbox, &self.image, CALL).await?;
        Ok(Figures {
            fresh_p50_us: pace.fresh.percentile_us(50),
            fresh_p99_us: pace.fresh.percentile_us(99),
            warm_p50_us: pace.warm.percentile_us(50),
            no_image_p50_us: no_image.percentile_us(50),
            per_s,
            first_run_us: self.first_run_us,
            deploy_ms: self.deploy_ms,
            image_bytes: measure::sizes(sandbox, &self.image).image,
            pages_written: written.pages,
            page_regions_written: written.regions,
        })
    }
}

/// Short stretches in turns, so that a machine that slows down for a while slows everything that is compared.
async fn measure_in_turns<const N: usize>(sandbox: &Sandbox, images: [&Image; N], runs: usize) -> Result<[Pace; N]> {
    const TURNS: usize = 30;
    let mut times: [(Vec<Duration>, Vec<Duration>); N] = std::array::from_fn(|_| Default::default());
    for _ in 0..TURNS {
        for (image, (fresh, warm)) in images.iter().zip(&mut times) {
            fresh.extend(time_fresh(sandbox, image, runs.div_ceil(TURNS)).await?);
            warm.extend(time_warm(sandbox, image, runs.div_ceil(TURNS)).await?);
        }
    }
    Ok(times.map(|(fresh, warm)| Pace { fresh: Times::new(fresh), warm: Times::new(warm) }))
}

async fn fresh_run(sandbox: &Sandbox, image: &Image) -> Result<()> {
    check(&sandbox.run(image, task(), measure::offline_services()).await?)
}

fn task() -> Task<'static> {
    Task { tenant: "bench", call: CALL, limits: Limits::default(), is_urgent: false, replay: None }
}

fn check(outcome: &Outcome) -> Result<()> {
    ensure!(outcome.fault.is_none(), "the benchmark's component failed: {:?}", outcome.fault);
    Ok(())
}

async fn time_fresh(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..WARM_UP {
        fresh_run(sandbox, image).await?;
    }
    for _ in 0..runs {
        let started = Instant::now();
        fresh_run(sandbox, image).await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

async fn time_warm(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<Vec<Duration>> {
    let mut warm = Warm::new(sandbox, image)?;
    let mut times = Vec::with_capacity(runs);
    for round in 0..runs + WARM_UP {
        let started = Instant::now();
        check(&warm.run(task(), measure::offline_services()).await?)?;
        if round >= WARM_UP {
            times.push(started.elapsed());
        }
    }
    Ok(times)
}

async fn time_without_image(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<Times> {
    let without = WithoutImage::new(sandbox, image).await?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let started = Instant::now();
        ensure!(
            without.call(CALL, measure::offline_services()).await?,
            "the benchmark's component failed without an image"
        );
        times.push(started.elapsed());
    }
    Ok(Times::new(times))
}

/// Runs per second through all cores.
async fn throughput(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<f64> {
    let workers = std::thread::available_parallelism()?.get() * 4;
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..workers {
        let (sandbox, image) = (sandbox.clone(), image.clone());
        tasks.spawn(async move {
            for _ in 0..runs / workers {
                fresh_run(&sandbox, &image).await?;
            }
            anyhow::Ok(runs / workers)
        });
    }
    let mut done = 0;
    while let Some(finished) = tasks.join_next().await {
        done += finished??;
    }
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

/// Quiet and attacked stretches take turns, so that what else the machine does for a while falls on both; the 99th
/// percentile is of all times of a kind together, so that no bad stretch is hidden.
async fn measure_neighbour(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<Neighbour> {
    const STRETCHES: usize = 40;
    let program = Arc::new(Program::single("attacker.js", ATTACKER));
    let attacker = sandbox.build(program, Limits::default()).await?.image;
    let (mut quiet, mut attacked) = (Vec::new(), Vec::new());
    for _ in 0..STRETCHES {
        quiet.extend(time_arrivals(sandbox, image, runs / 5).await?);
        let mut attacks = start_attack(sandbox, &attacker)?;
        attacked.extend(time_arrivals(sandbox, image, runs / 5).await?);
        // Dropping the runs ends them: nothing of an attack outlives its measurement.
        attacks.shutdown().await;
    }
    let p99_us = |times| Times::new(times).percentile_us(99);
    Ok(Neighbour { arrivals: quiet.len(), quiet_p99_us: p99_us(quiet), attacked_p99_us: p99_us(attacked) })
}

/// One endless run for every core.
fn start_attack(sandbox: &Sandbox, attacker: &Image) -> Result<tokio::task::JoinSet<Result<(), sandbox::Error>>> {
    let mut attacks = tokio::task::JoinSet::new();
    for _ in 0..std::thread::available_parallelism()?.get() {
        let (sandbox, attacker) = (sandbox.clone(), attacker.clone());
        attacks.spawn(async move {
            let limits = Limits { fuel: u64::MAX / 2, wall_clock: Duration::from_secs(600), ..Limits::default() };
            let task = Task { tenant: "attacker", call: CALL, limits, is_urgent: false, replay: None };
            sandbox.run(&attacker, task, measure::offline_services()).await.map(|_| ())
        });
    }
    Ok(attacks)
}

/// Times fresh runs as they come in a server: each a task of its own, which waits for its turn on a worker.
async fn time_arrivals(sandbox: &Sandbox, image: &Image, runs: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(runs);
    for round in 0..runs + WARM_UP {
        let (sandbox, image) = (sandbox.clone(), image.clone());
        let started = Instant::now();
        let arrival = tokio::spawn(async move {
            fresh_run(&sandbox, &image).await?;
            anyhow::Ok(started.elapsed())
        });
        let time = arrival.await??;
        if round >= WARM_UP {
            times.push(time);
        }
    }
    Ok(times)
}

async fn time_cpu(sandbox: &Sandbox) -> Result<f64> {
    let program = Arc::new(Program::single("cpu.js", CPU_BOUND));
    let image = sandbox.build(program, Limits::default()).await?.image;
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        fresh_run(sandbox, &image).await?;
        times.push(started.elapsed());
    }
    Ok(Times::new(times).percentile_us(50) / 1000.0)
}

fn print_table(report: &Report) {
    println!("{:<34}{:>14}{:>14}", "", "trivial", "1 MB of deps");
    let row = |name: &str, unit: &str, value: fn(&Figures) -> f64| {
        println!("{name:<34}{:>11.1} {unit:<2}{:>11.1} {unit}", value(&report.trivial), value(&report.deps_1mb));
    };
    row("fresh sandbox, p50", "µs", |figures| figures.fresh_p50_us);
    row("fresh sandbox, p99", "µs", |figures| figures.fresh_p99_us);
    row("warm instance, p50", "µs", |figures| figures.warm_p50_us);
    row("  fresh / warm", "×", |figures| figures.fresh_p50_us / figures.warm_p50_us);
    row("without an image, p50", "µs", |figures| figures.no_image_p50_us);
    row("  without / with", "×", |figures| figures.no_image_p50_us / figures.fresh_p50_us);
    row("first run, image mapped from file", "µs", |figures| figures.first_run_us);
    row("deploy (source to image)", "ms", |figures| figures.deploy_ms);
    row("image", "KB", |figures| figures.image_bytes as f64 / 1000.0);
    row("pages written by a run", "", |figures| figures.pages_written as f64);
    row("  in separate regions", "", |figures| figures.page_regions_written as f64);
    row("runs through all cores", "/s", |figures| figures.per_s);
    println!();
    println!(
        "{:<34}{:>11.2} ×",
        "fresh with deps / fresh without",
        report.deps_1mb.fresh_p50_us / report.trivial.fresh_p50_us
    );
    println!("{:<34}{:>11.1} µs", "fresh on the whole prelude", report.prelude.whole_fresh_p50_us);
    println!("{:<34}{:>11.1} µs", "fresh on its core alone", report.prelude.core_fresh_p50_us);
    let cost = report.prelude.whole_fresh_p50_us / report.prelude.core_fresh_p50_us;
    println!("{:<34}{cost:>11.2} ×", "  whole / core");
    println!("{:<34}{:>11.1} KB", "base image", report.images.base_bytes as f64 / 1000.0);
    println!("{:<34}{:>11.1} µs", "a neighbour's p99, quiet", report.neighbour.quiet_p99_us);
    println!("{:<34}{:>11.1} µs", "a neighbour's p99, attacked", report.neighbour.attacked_p99_us);
    let slowdown = report.neighbour.attacked_p99_us / report.neighbour.quiet_p99_us;
    println!("{:<34}{slowdown:>11.2} ×", "  attacked / quiet");
    println!("{:<34}{:>11.1} ms", "CPU-bound", report.cpu_bound_ms);
    report.isolation.print();
}
