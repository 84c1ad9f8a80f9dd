//! Installs, loads and uses npm packages in the real sandbox, one after the other, and prints a table. `just packages`.
//!
//! `just packages` takes words that names must hold. With `--keep` what was downloaded is used again next time, and the
//! times are those of a warm cache. With `--fresh` only what follows the table is measured: fresh runs of components that
//! require much.

#![allow(clippy::disallowed_methods, reason = "a tool that measures and waits for what it watches")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linker::{Entry, Linked, Linker, Registry};
use outbound::Outbound;
use sandbox::{Config, Fault, Limits, LoadError, Sandbox, Task, measure};
use wellspring::{LocalServices, Packages};

mod cases;
mod echo;
mod fresh;
mod replays;

use cases::Case;

/// What a package should do to count: these shares, in percent, of all.
const LOADED_GOAL: usize = 95;
const WORKING_GOAL: usize = 90;

const CALL: &str = r#"{"kind":"action"}"#;

struct Bench {
    sandbox_config: Config,
    sandbox: Sandbox,
    registry: Registry,
    /// Kept between runs; without it every package is installed into an empty cache.
    kept: Option<PathBuf>,
    to_registry: Outbound,
    to_echo: Outbound,
}

#[derive(Default)]
struct Row {
    packages: usize,
    cold: Option<Duration>,
    warm: Option<Duration>,
    load: Option<Duration>,
    image_bytes: usize,
    memory_bytes: usize,
    /// Runs that were recorded and replayed.
    replayed: usize,
    failure: Option<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let (flags, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has = |wanted: &str| flags.iter().any(|flag| flag == wanted);
    let bench = Bench::open(has("--keep")).await?;
    let rows = if has("--fresh") { Vec::new() } else { bench.table(&words).await? };
    if words.is_empty() {
        fresh::report(&bench).await?;
    }
    let loaded = rows.iter().filter(|row| row.load.is_some()).count();
    let working = rows.iter().filter(|row| row.failure.is_none()).count();
    let share = |count: usize| (count * 100).checked_div(rows.len()).unwrap_or(100);
    println!("\n{} packages: {loaded} load ({} %), {working} work ({} %)", rows.len(), share(loaded), share(working));
    println!("{} recorded runs were replayed", rows.iter().map(|row| row.replayed).sum::<usize>());
    let is_enough = share(loaded) >= LOADED_GOAL && share(working) >= WORKING_GOAL;
    Ok(if is_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

// === impl Bench ===

impl Bench {
    async fn table(&self, words: &[String]) -> Result<Vec<Row>> {
        println!(
            "{:<36}{:>5}{:>9}{:>9}{:>9}{:>9}{:>9}  result",
            "package", "tree", "cold ms", "warm ms", "load ms", "image MB", "heap MB"
        );
        let mut rows = Vec::new();
        for case in cases::select(words)? {
            let row = self.try_out(&case).await?;
            print(&case.name, &row);
            rows.push(row);
        }
        Ok(rows)
    }

    async fn open(keeps: bool) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/packages");
        let sandbox = Sandbox::open(sandbox_config(&folder)).await?;
        let everything = format!("*={}", echo::serve().await?).parse()?;
        let to_echo = outbound::Config { dangerous_host_overrides: vec![everything], ..outbound::Config::default() };
        let to_registry = outbound::Config { dangerous_allow_private_networks: true, ..outbound::Config::default() };
        Ok(Self {
            sandbox_config: sandbox_config(&folder),
            sandbox,
            registry: Registry::from_npm_configuration(None),
            kept: keeps.then(|| folder.join("cache")),
            to_registry: Outbound::new(to_registry)?,
            to_echo: Outbound::new(to_echo)?,
        })
    }

    /// The host's failures end everything; a package's are its result.
    async fn try_out(&self, case: &Case) -> Result<Row> {
        let mut row = Row::default();
        if let Err(failure) = self.fill(&mut row, case).await? {
            row.failure = Some(failure);
        }
        Ok(row)
    }

    async fn fill(&self, row: &mut Row, case: &Case) -> Result<Result<(), String>> {
        let linked = match self.install(row, case.entry()).await? {
            Ok(linked) => linked,
            Err(failure) => return Ok(Err(failure)),
        };
        let started = Instant::now();
        let program = Arc::new(tools::program::translate(linked));
        let built = match self.sandbox.build(program, loading()).await {
            Ok(built) => built,
            Err(LoadError::Threw(thrown)) => return Ok(Err(thrown.stack)),
            Err(LoadError::Fault(fault)) => return Ok(Err(fault.to_string())),
            Err(LoadError::Host(error)) => return Err(error.into()),
        };
        row.load = Some(started.elapsed());
        row.image_bytes = measure::sizes(&self.sandbox, &built.image).image;
        let task = Task { tenant: "packages", call: CALL, limits: Limits::default(), is_urgent: false, replay: None };
        let services = Arc::new(LocalServices::new(self.to_echo.clone()));
        let outcome = self.sandbox.run(&built.image, task, services).await?;
        row.memory_bytes = outcome.usage.peak_memory_bytes;
        let returned = outcome.returned.as_ref().map(|value| value.get()).unwrap_or_default();
        Ok(match outcome.fault {
            Some(Fault::Threw(thrown)) => Err(thrown.stack),
            Some(fault) => Err(fault.to_string()),
            None if returned != "true" => Err(format!("the check gave {returned}")),
            None => {
                let replays = replays::check(&self.sandbox, &built.image, CALL, &self.to_echo).await?;
                row.replayed = replays.runs;
                replays.difference.map_or(Ok(()), |difference| Err(format!("a replay differs: {difference}")))
            }
        })
    }

    async fn install(&self, row: &mut Row, entry: Entry) -> Result<Result<Linked, String>> {
        let empty = tempfile::tempdir().context("a folder for the cache")?;
        let folder = self.kept.clone().unwrap_or_else(|| empty.path().to_owned());
        let config = linker::Config::new(folder, self.registry.clone());
        let linker = Linker::new(config, Arc::new(Packages(self.to_registry.clone())));
        let link = || async {
            let started = Instant::now();
            let linked = linker.link(&entry, &|_| {}).await;
            linked.map(|linked| (started.elapsed(), linked)).map_err(|error| error.to_string())
        };
        let first = match link().await {
            Ok((took, linked)) => (took, linked),
            Err(failure) => return Ok(Err(failure)),
        };
        row.packages = first.1.dependencies.len();
        if self.kept.is_none() {
            row.cold = Some(first.0);
        }
        Ok(link().await.map(|(took, linked)| {
            row.warm = Some(took);
            linked
        }))
    }
}

/// As the server loads: evaluating a very large package takes seconds of a busy machine.
fn loading() -> Limits {
    Limits { wall_clock: Duration::from_secs(120), ..Limits::default() }
}

fn sandbox_config(folder: &Path) -> Config {
    Config { cache_folder: Some(folder.join("sandbox")), ..Config::default() }
}

fn print(name: &str, row: &Row) {
    let milliseconds = |time: Option<Duration>| time.map_or("-".to_owned(), |time| time.as_millis().to_string());
    let megabytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1e6);
    let result = row.failure.as_deref().unwrap_or("works");
    println!(
        "{name:<36}{:>5}{:>9}{:>9}{:>9}{:>9}{:>9}  {}",
        row.packages,
        milliseconds(row.cold),
        milliseconds(row.warm),
        milliseconds(row.load),
        megabytes(row.image_bytes),
        megabytes(row.memory_bytes),
        result.replace('\n', "\n    ")
    );
}
