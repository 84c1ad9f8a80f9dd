//! Links, loads and describes every component of a plan made by `list.mjs`, with its real npm packages, and reports how
//! many work. `just corpus` runs it.

#![allow(clippy::disallowed_methods, reason = "a tool that measures and waits for what it watches")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use linker::{Linker, Registry};
use outbound::Outbound;
use sandbox::{Config, Limits, LoadError, Sandbox};
use serde::Deserialize;

/// The share of all components that should load and describe, in percent.
const GOAL: usize = 95;

#[derive(Deserialize)]
struct Entry {
    entry: String,
    source: String,
    files: BTreeMap<String, String>,
}

#[derive(Default)]
struct Tally {
    total: usize,
    loaded: usize,
    valid: usize,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let mut plan = String::new();
    std::io::stdin().read_to_string(&mut plan)?;
    let entries: Vec<Entry> = serde_json::from_str(&plan)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let config = Config { cache_folder: Some(folder.join("corpus/cache")), ..Config::default() };
    let sandbox = Sandbox::open(config).await?;
    let linker = open_linker(&folder.join("packages/cache"))?;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for entry in entries {
        let tally = tallies.entry(kind_of(&entry.entry)).or_default();
        tally.total += 1;
        match load(&linker, &sandbox, &entry).await {
            Ok(problems) => {
                tally.loaded += 1;
                tally.valid += usize::from(problems.is_empty());
                for problem in problems {
                    println!("described with a problem  {}: {problem}", entry.entry);
                }
            }
            Err(reason) => println!("does not load             {}: {reason}", entry.entry),
        }
    }
    Ok(report(&tallies))
}

fn report(tallies: &BTreeMap<&str, Tally>) -> ExitCode {
    println!("\n{:<10}{:>8}{:>8}{:>12}", "", "files", "load", "describe");
    for (kind, Tally { total, loaded, valid }) in tallies {
        println!("{kind:<10}{total:>8}{loaded:>8}{valid:>12}");
    }
    let total: usize = tallies.values().map(|tally| tally.total).sum();
    let valid: usize = tallies.values().map(|tally| tally.valid).sum();
    let share = valid * 100 / total.max(1);
    println!("\n{valid} of {total} load and describe ({share} %)");
    if share >= GOAL { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn open_linker(cache: &Path) -> Result<Linker> {
    let config = outbound::Config { dangerous_allow_private_networks: true, ..outbound::Config::default() };
    let packages = wellspring::Packages(Outbound::new(config)?);
    let config = linker::Config::new(cache.to_owned(), Registry::from_npm_configuration(None));
    Ok(Linker::new(config, Arc::new(packages)))
}

/// Apps are parts of components and have no run of their own; what is left over are shared helpers.
fn kind_of(path: &str) -> &'static str {
    let has = |part: &str| path.split('/').any(|found| found == part);
    match () {
        () if has("actions") => "actions",
        () if has("sources") => "sources",
        () => "others",
    }
}

/// Loads a component; what is wrong with its description comes back as text.
async fn load(linker: &Linker, sandbox: &Sandbox, entry: &Entry) -> Result<Vec<String>, String> {
    let filename = entry.entry.rsplit('/').next().unwrap_or_default().to_owned();
    let own = linker::Entry { filename, source: entry.source.clone(), files: entry.files.clone() };
    let linked = linker.link(&own, &|_| {}).await.map_err(|error| error.to_string())?;
    let program = Arc::new(tools::program::translate(linked));
    // As the server loads: evaluating a very large package takes seconds of a busy machine.
    let limits = Limits { wall_clock: Duration::from_secs(120), ..Limits::default() };
    let built = sandbox.build(program, limits).await.map_err(|error| match error {
        LoadError::Threw(thrown) => thrown.stack,
        other => other.to_string(),
    })?;
    let description = serde_json::from_str(&built.description).map_err(|error| error.to_string())?;
    Ok(match domain::component::Description::parse(&description) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect(),
    })
}
