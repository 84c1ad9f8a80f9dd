//! `wellspring bench store`: durable commits, next to what the bare database does with the same rows.
//!
//! SQLite alone inserts the rows of as many commits as there are committers in each transaction; Redis alone runs a
//! script that writes the same rows and checks nothing, as fast as `redis-benchmark` can ask for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::store::Store;
use ::store::bench::{COMMITTERS, Figures, bare, commits};
use ::store::embedded::Embedded;
use ::store::redis::Redis;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use tokio::process::Command;

use super::contenders;

/// The rows of one commit of `store::bench`: an event, a counter, a job in, a job done.
const BARE_SCRIPT: &str = "redis.call('XADD', KEYS[1]..':events', 'MAXLEN', '=', 100, '*', 'v', ARGV[1]) \
    redis.call('INCR', KEYS[1]..':invocations') \
    local job = redis.call('INCR', KEYS[1]..':jobs') \
    redis.call('HSET', KEYS[1]..':job:'..job, 'tenant', 'u_1', 'payload', ARGV[2]) \
    redis.call('DEL', KEYS[1]..':job:'..(job - 1000)) return job";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Commits per figure; a tenth of it for a single committer
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
    fn count(&self, committers: usize) -> usize {
        let count = if committers == 1 { self.commits / 10 } else { self.commits };
        count.max(committers)
    }
}

// === impl Row ===

impl Row {
    fn new(engine: &'static str, figures: &Figures, bare: (f64, f64)) -> Self {
        let Figures { committers, commits_per_second: commits_per_s, p50, p99, .. } = *figures;
        let (p50_ms, p99_ms) = (p50.as_secs_f64() * 1000.0, p99.as_secs_f64() * 1000.0);
        Self { engine, committers, commits_per_s, p50_ms, p99_ms, bare_per_s: bare.0, bare_p99_ms: bare.1 }
    }
}

async fn measure_sqlite(folder: &Path, committers: usize, count: usize) -> Result<Row> {
    let folder = folder.join(format!("sqlite-{committers}"));
    std::fs::create_dir_all(&folder)?;
    let store: Arc<dyn Store> = Arc::new(Embedded::open(&folder.join("store.db"))?);
    let figures = commits(&store, committers, count).await?;
    drop(store);
    let alone = tokio::task::spawn_blocking(move || bare(&folder, committers, count)).await??;
    Ok(Row::new("SQLite", &figures, (alone.commits_per_second, alone.p99.as_secs_f64() * 1000.0)))
}

async fn measure_redis(port: u16, committers: usize, count: usize) -> Result<Row> {
    let store = Redis::connect(&format!("redis://127.0.0.1:{port}"), &format!("bench{committers}")).await?;
    let store: Arc<dyn Store> = Arc::new(store);
    let figures = commits(&store, committers, count).await?;
    Ok(Row::new("Redis", &figures, bare_redis(port, committers, count).await?))
}

/// Commands per second, and the 99th percentile in milliseconds.
async fn bare_redis(port: u16, committers: usize, count: usize) -> Result<(f64, f64)> {
    let mut command = Command::new("redis-benchmark");
    command.args(["--csv", "-p", &port.to_string(), "-c", &committers.to_string(), "-n", &count.to_string()]);
    command.args(["EVAL", BARE_SCRIPT, "1", &format!("bare{committers}"), &"x".repeat(512), &"p".repeat(64)]);
    let output = command.output().await.context("redis-benchmark is needed; it comes with redis-server")?;
    ensure!(output.status.success(), "redis-benchmark: {}", String::from_utf8_lossy(&output.stderr));
    parse_csv(&String::from_utf8_lossy(&output.stdout)).context("redis-benchmark said something else than expected")
}

/// The last line is `"<command>","<per second>","<avg>","<min>","<p50>","<p95>","<p99>","<max>"`.
fn parse_csv(output: &str) -> Option<(f64, f64)> {
    let line = output.lines().rev().find(|line| line.ends_with('"'))?;
    let fields: Vec<&str> = line.trim_matches('"').rsplit("\",\"").collect();
    Some((fields.get(6)?.parse().ok()?, fields.get(1)?.parse().ok()?))
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
    use super::parse_csv;

    #[test]
    fn the_figures_of_redis_benchmark_are_found_whatever_the_command_holds() {
        let output = "\"test\",\"rps\",\"avg\"\n\"EVAL 'a','b', \"c\"\",\"5000.50\",\"0.1\",\"0.1\",\"0.2\",\"0.3\",\"0.4\",\"0.9\"\n";

        assert_eq!(parse_csv(output), Some((5000.5, 0.4)));
        assert_eq!(parse_csv("nothing of the kind"), None);
    }
}
