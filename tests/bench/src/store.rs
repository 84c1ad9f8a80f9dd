//! `just bench store`: durable commits, next to what the bare database does with the same rows.
//!
//! SQLite alone inserts the rows of as many commits as there are committers in each transaction; Redis alone runs a
//! script that writes the same rows and checks nothing, as fast as `redis-benchmark` can ask for it. Both take turns, so that
//! a machine that slows down for a while slows both.

mod commits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::store::Store;
use ::store::embedded::Embedded;
use ::store::redis::Redis;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use tokio::process::Command;

use self::commits::{COMMITTERS, Figures, bare, commits};
use super::contenders;

/// The rows of one commit of `commits`: an event, a counter, a job in, a job done.
const BARE_SCRIPT: &str = "redis.call('XADD', KEYS[1]..':events', 'MAXLEN', '=', 100, '*', 'v', ARGV[1]) \
    redis.call('INCR', KEYS[1]..':invocations') \
    local job = redis.call('INCR', KEYS[1]..':jobs') \
    redis.call('HSET', KEYS[1]..':job:'..job, 'tenant', 'u_1', 'payload', ARGV[2]) \
    redis.call('DEL', KEYS[1]..':job:'..(job - 1000)) return job";

const TURNS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Commits per figure; a quarter of it for a single committer
    #[arg(long, default_value_t = 20_000)]
    commits: usize,
    /// Where the stores are kept while it runs; a new folder there is removed at the end
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
    missing: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    engine: &'static str,
    committers: usize,
    commits_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    bare_per_s: f64,
    bare_p99_ms: f64,
}

/// What the database alone did.
#[derive(Debug, PartialEq)]
struct Bare {
    per_s: f64,
    p99_ms: f64,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let parent = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::tempdir_in(&parent).with_context(|| format!("cannot use {}", parent.display()))?;
    let mut report = Report { rows: Vec::new(), missing: Vec::new() };
    for committers in COMMITTERS {
        report.rows.push(measure_sqlite(folder.path(), committers, arguments.count(committers)).await?);
    }
    match contenders::redis(folder.path()).await {
        Ok(redis) => {
            for committers in COMMITTERS {
                report.rows.push(measure_redis(redis.port, committers, arguments.count(committers)).await?);
            }
        }
        Err(error) => {
            eprintln!("Redis is left out: {error:#}");
            report.missing.push("Redis".to_owned());
        }
    }
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

// === impl Arguments ===

impl Arguments {
    /// Of one turn.
    fn count(&self, committers: usize) -> usize {
        let count = if committers == 1 { self.commits / 4 } else { self.commits };
        (count / TURNS).max(committers)
    }
}

// === impl Row ===

impl Row {
    /// Of turns of equal length. Rates are of all turns together, percentiles those of the turn in the middle.
    fn new(engine: &'static str, turns: &[(Figures, Bare)]) -> Self {
        let rate = |rate: fn(&(Figures, Bare)) -> f64| {
            turns.len() as f64 / turns.iter().map(|turn| 1.0 / rate(turn)).sum::<f64>()
        };
        let middle = |value: fn(&(Figures, Bare)) -> f64| {
            let mut values: Vec<f64> = turns.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Self {
            engine,
            committers: turns.first().map_or(0, |(figures, _)| figures.committers),
            commits_per_s: rate(|(figures, _)| figures.commits_per_second),
            p50_ms: middle(|(figures, _)| figures.p50.as_secs_f64() * 1000.0),
            p99_ms: middle(|(figures, _)| figures.p99.as_secs_f64() * 1000.0),
            bare_per_s: rate(|(_, bare)| bare.per_s),
            bare_p99_ms: middle(|(_, bare)| bare.p99_ms),
        }
    }
}

async fn measure_sqlite(folder: &Path, committers: usize, count: usize) -> Result<Row> {
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        let folder = folder.join(format!("sqlite-{committers}-{turn}"));
        std::fs::create_dir_all(&folder)?;
        let store: Arc<dyn Store> = Arc::new(Embedded::open(&folder.join("store.db"))?);
        let figures = commits(&store, committers, count).await?;
        drop(store);
        let alone = tokio::task::spawn_blocking(move || bare(&folder, committers, count)).await??;
        turns.push((figures, Bare { per_s: alone.commits_per_second, p99_ms: alone.p99.as_secs_f64() * 1000.0 }));
    }
    Ok(Row::new("SQLite", &turns))
}

async fn measure_redis(port: u16, committers: usize, count: usize) -> Result<Row> {
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        let prefix = format!("bench{committers}-{turn}");
        let store: Arc<dyn Store> = Arc::new(Redis::connect(&format!("redis://127.0.0.1:{port}"), &prefix).await?);
        let figures = commits(&store, committers, count).await?;
        drop(store);
        turns.push((figures, bare_redis(port, committers, count).await?));
    }
    Ok(Row::new("Redis", &turns))
}

async fn bare_redis(port: u16, committers: usize, count: usize) -> Result<Bare> {
    let mut command = Command::new("redis-benchmark");
    command.args(["--csv", "-p", &port.to_string(), "-c", &committers.to_string(), "-n", &count.to_string()]);
    command.args(["EVAL", BARE_SCRIPT, "1", &format!("bare{committers}"), &"x".repeat(512), &"p".repeat(64)]);
    let output = command.output().await.context("redis-benchmark is needed; it comes with redis-server")?;
    ensure!(output.status.success(), "redis-benchmark: {}", String::from_utf8_lossy(&output.stderr));
    parse_csv(&String::from_utf8_lossy(&output.stdout)).context("redis-benchmark said something else than expected")
}

/// The last line is `"<command>","<per second>","<avg>","<min>","<p50>","<p95>","<p99>","<max>"`.
fn parse_csv(output: &str) -> Option<Bare> {
    let line = output.lines().rev().find(|line| line.ends_with('"'))?;
    let fields: Vec<&str> = line.trim_matches('"').rsplit("\",\"").collect();
    Some(Bare { per_s: fields.get(6)?.parse().ok()?, p99_ms: fields.get(1)?.parse().ok()? })
}

fn print_table(report: &Report) {
    println!(
        "{:<10}{:>11}{:>12}{:>10}{:>10}{:>12}{:>13}{:>9}",
        "", "committers", "commits/s", "p50 ms", "p99 ms", "bare/s", "bare p99 ms", "share"
    );
    for row in &report.rows {
        let Row { engine, committers, commits_per_s, p50_ms, p99_ms, bare_per_s, bare_p99_ms } = row;
        let share = 100.0 * commits_per_s / bare_per_s;
        println!(
            "{engine:<10}{committers:>11}{commits_per_s:>12.0}{p50_ms:>10.2}{p99_ms:>10.2}{bare_per_s:>12.0}{bare_p99_ms:>13.2}{share:>7.0} %"
        );
    }
    println!("\nevery commit on disk before it is answered: synchronous=FULL, appendfsync always");
}

#[cfg(test)]
mod tests {
    use super::{Bare, parse_csv};

    #[test]
    fn the_figures_of_redis_benchmark_are_found_whatever_the_command_holds() {
        let output = "\"test\",\"rps\",\"avg\"\n\"EVAL 'a','b', \"c\"\",\"5000.50\",\"0.1\",\"0.1\",\"0.2\",\"0.3\",\"0.4\",\"0.9\"\n";

        assert_eq!(parse_csv(output), Some(Bare { per_s: 5000.5, p99_ms: 0.4 }));
        assert_eq!(parse_csv("nothing of the kind"), None);
    }
}
