//! `just storm`: kills the server again and again, and tells whether anything was lost, repeated or half done.

#![allow(clippy::disallowed_methods, reason = "a tool that measures and waits for what it watches")]
#![allow(clippy::expect_used, reason = "a driver of tests, where a panic is how to fail")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rig::redis::Arrangement;
use rig::storm::{self, Engine, Options};
use serde::Serialize;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// How often the server is killed, on each store
    #[arg(long, default_value_t = 200)]
    kills: u32,
    #[arg(long, value_enum, default_value_t = Store::All)]
    store: Store,
    /// Decides when the server is killed and what is asked of it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Kill Redis or PostgreSQL as well, at one kill in ten
    #[arg(long)]
    kill_store: bool,
    /// So many hosts on one Redis behind HAProxy instead: they are killed, paused, cut off, skewed and restarted, and so is Redis
    #[arg(long)]
    hosts: Option<usize>,
    /// How many faults, with `--hosts`
    #[arg(long, default_value_t = 500, requires = "hosts")]
    faults: u32,
    /// How their Redis is run: with a Sentinel its end is a fail-over, in a cluster a shard is lost
    #[arg(long, value_enum, default_value_t = Redis::Alone, requires = "hosts")]
    redis: Redis,
    /// Give each host a network namespace of its own, where partitions lose packets; this needs the rights of root
    #[arg(long, requires = "hosts")]
    namespaces: bool,
    /// Let hosts begin as this program, of an earlier version: each rolling restart makes one of them the present one
    #[arg(long, value_name = "PROGRAM", requires = "hosts")]
    older: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Redis {
    Alone,
    Sentinel,
    Cluster,
}

#[derive(Clone, Copy, ValueEnum)]
enum Store {
    Sqlite,
    Redis,
    Postgres,
    All,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(hosts) = arguments.hosts {
        let (faults, seed) = (arguments.faults, arguments.seed);
        let redis = match arguments.redis {
            Redis::Alone => Arrangement::Alone,
            Redis::Sentinel => Arrangement::Sentinel,
            Redis::Cluster => Arrangement::Cluster,
        };
        eprintln!("{hosts} hosts: {faults} faults, seed {seed}");
        let (is_apart, older) = (arguments.namespaces, arguments.older);
        let options = storm::hosts::Options { hosts, faults, seed, redis, is_apart, older };
        let report = storm::hosts::run(options).await;
        return print(&[report], |report| &report.violations);
    }
    let engines: &[Engine] = match arguments.store {
        Store::Sqlite => &[Engine::Sqlite],
        Store::Redis => &[Engine::Redis],
        Store::Postgres => &[Engine::Postgres],
        Store::All => &[Engine::Sqlite, Engine::Redis, Engine::Postgres],
    };
    let mut reports = Vec::new();
    for engine in engines {
        eprintln!("{engine:?}: {} kills, seed {}", arguments.kills, arguments.seed);
        let (kills, seed, kills_store) = (arguments.kills, arguments.seed, arguments.kill_store);
        reports.push(storm::run(Options { engine: *engine, kills, seed, kills_store }).await);
    }
    print(&reports, |report| &report.violations)
}

/// A table for people, then one line for programs.
fn print<Report: Serialize>(reports: &[Report], violations: impl Fn(&Report) -> &Vec<String>) -> ExitCode {
    let reports_json = serde_json::to_value(reports).expect("a report is JSON");
    let columns = reports_json.as_array().cloned().unwrap_or_default();
    let names = columns.first().and_then(|report| report.as_object()).map(|report| report.keys().cloned());
    for name in names.into_iter().flatten().filter(|name| name != "violations") {
        let cells: String = columns.iter().map(|report| format!("{:>12}", cell(report.get(&name)))).collect();
        println!("{:<38}{cells}", name.replace('_', " "));
    }
    let counts: String = reports.iter().map(|report| format!("{:>12}", violations(report).len())).collect();
    println!("{:<38}{counts}", "violations");
    for violation in reports.iter().flat_map(&violations) {
        println!("  {violation}");
    }
    println!("{reports_json}");
    let is_well = reports.iter().all(|report| violations(report).is_empty());
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cell(value: Option<&serde_json::Value>) -> String {
    match value {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
