//! `just bench components`: a host with many real components, each with packages of npm's registry.
//!
//! Components are deployed in parallel by several tenants, then the server is started again, so that nothing is in memory,
//! and every component is called twice. With `--minutes` it then goes on calling and deploying, and the slope of memory is
//! told. A folder that is given is kept, so that a second bench need not link again. The full size, as documented:
//! `just bench components --components 1000 --sets 200 --minutes 10`; many sources of few programs are `just bench sources`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper::Method;
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use super::contenders::{Wellspring, endpoint_key, redis};
use super::sources::call_each;
use super::statistics::Times;

/// What public components require, the more often the earlier. A set is one to three of these.
const PACKAGES: [&str; 32] = [
    "axios",
    "@pipedream/platform",
    "lodash",
    "moment",
    "dayjs",
    "qs",
    "form-data",
    "uuid",
    "crypto-js",
    "date-fns",
    "rss-parser",
    "lodash.get",
    "query-string",
    "moment-timezone",
    "async-retry",
    "bottleneck",
    "he",
    "html-to-text",
    "cheerio",
    "xml2js",
    "jsonwebtoken",
    "lodash.sortby",
    "mime",
    "graphql-request",
    "luxon",
    "nanoid",
    "slugify",
    "validator",
    "yaml",
    "papaparse",
    "fast-xml-parser",
    "url-join",
];
const ENDPOINTS: &str = "endpoints";
/// How often memory is looked at while components are deployed.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server is left in peace before it counts as idle.
const IDLE: Duration = Duration::from_secs(3);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    #[arg(long, default_value_t = 60)]
    components: usize,
    /// Distinct sets of packages
    #[arg(long, default_value_t = 20)]
    sets: usize,
    /// Tenants that deploy, each one component after the other
    #[arg(long, default_value_t = 4)]
    tenants: usize,
    /// The memory budget of the server, in MiB
    #[arg(long, default_value_t = 1024)]
    memory: u64,
    /// Keep everything in a Redis that is started for the bench
    #[arg(long)]
    redis: bool,
    /// How long to go on calling and deploying
    #[arg(long, default_value_t = 0)]
    minutes: u64,
    /// Keep the deployed components here, or use those that are
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Serialize, Default)]
struct Report {
    components: usize,
    sets: usize,
    budget_mb: f64,
    refused: usize,
    deploy_peak_heap_mb: Option<f64>,
    start_ms: f64,
    idle_heap_mb: Option<f64>,
    called_heap_mb: Option<f64>,
    called_images_mb: Option<f64>,
    store_kb_each: f64,
    disk_kb_each: f64,
    cold_p50_ms: f64,
    cold_p99_ms: f64,
    warm_p50_ms: f64,
    warm_p99_ms: f64,
    growth_mb_per_minute: Option<f64>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let own = tempfile::tempdir()?;
    let folder = arguments.folder.clone().unwrap_or_else(|| own.path().to_owned());
    std::fs::create_dir_all(&folder)?;
    let redis = if arguments.redis { Some(redis(&folder).await?) } else { None };
    let store = redis.as_ref().map(|redis| format!("redis://127.0.0.1:{}/0", redis.port));
    let mut report = Report { budget_mb: (arguments.memory << 20) as f64 / 1e6, ..Report::default() };
    if !folder.join(ENDPOINTS).exists() {
        deploy_all(&arguments, &folder, store.as_deref(), &mut report).await?;
    }
    measure(&arguments, &folder, store.as_deref(), &mut report).await?;
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

async fn start(arguments: &Arguments, folder: &Path, store: Option<&str>) -> Result<Wellspring> {
    let memory = format!("--memory={}", arguments.memory << 20);
    Wellspring::start_with(folder, store, &[&memory]).await
}

/// Deploys everything, by several tenants at once, and stops the server it was deployed to.
async fn deploy_all(arguments: &Arguments, folder: &Path, store: Option<&str>, report: &mut Report) -> Result<()> {
    eprintln!("deploying {} components of {} sets of packages", arguments.components, arguments.sets);
    let server = Arc::new(start(arguments, folder, store).await?);
    let (next, mut deploying) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for tenant in 0..arguments.tenants.max(1) {
        let key = server.new_user(tenant).await?;
        let (server, next, components, sets) = (server.clone(), next.clone(), arguments.components, arguments.sets);
        deploying.spawn(async move {
            let mut deployed = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= components {
                    return deployed;
                }
                deployed.push(deploy(&server, &key, &component(number, number % sets.max(1))).await);
            }
        });
    }
    let mut endpoints = Vec::new();
    while !deploying.is_empty() {
        if let Ok(Some(deployed)) = tokio::time::timeout(LOOK, deploying.join_next()).await {
            for deployed in deployed? {
                match deployed {
                    Ok(endpoint) => endpoints.push(endpoint),
                    Err(error) => {
                        // Many are refused for one reason.
                        if report.refused == 0 {
                            eprintln!("{error:#}");
                        }
                        report.refused += 1;
                    }
                }
            }
        }
        let heap = server.process.memory_mb("RssAnon:");
        let before = report.deploy_peak_heap_mb.unwrap_or(0.0);
        report.deploy_peak_heap_mb = heap.map(|heap| heap.max(before));
    }
    Arc::into_inner(server).context("a deploy goes on")?.process.stop().await?;
    ensure!(!endpoints.is_empty(), "nothing could be deployed");
    std::fs::write(folder.join(ENDPOINTS), endpoints.join("\n"))?;
    Ok(())
}

async fn deploy(server: &Wellspring, key: &str, code: &str) -> Result<String> {
    let body = json!({"component_code": code, "filename": "component.mjs"});
    endpoint_key(&server.call_as(key, Method::POST, "sources", &body).await?)
}

/// A component whose packages are those of a set. Each has its own code, as each has in public.
fn component(number: usize, set: usize) -> String {
    let packages: Vec<&str> = packages_of(set).collect();
    let imports: String =
        packages.iter().enumerate().map(|(at, name)| format!("import * as p{at} from {name:?};\n")).collect();
    let names: Vec<String> = (0..packages.len()).map(|at| format!("typeof p{at}")).collect();
    format!(
        "{imports}export default {{\n  name: \"component {number}\",\n  version: \"1\",\n  props: {{http: \"$.interface.http\"}},\n  \
         run({{body}}) {{ this.$emit({{number: {number}, packages: [{}], body}}); }},\n}};\n",
        names.join(", ")
    )
}

/// Sets begin with the packages that are required most, as components do: one of four, and one or two of the others.
fn packages_of(set: usize) -> impl Iterator<Item = &'static str> {
    const FIRST: usize = 4;
    let others = PACKAGES.len() - FIRST;
    let (first, row) = (set % FIRST, set / FIRST);
    let second = (set >= FIRST).then_some(FIRST + row % others);
    let third = (row >= others).then_some(FIRST + (row * 5 + 1) % others);
    [Some(first), second, third].into_iter().flatten().filter_map(|at| PACKAGES.get(at).copied())
}

async fn measure(arguments: &Arguments, folder: &Path, store: Option<&str>, report: &mut Report) -> Result<()> {
    let keys = std::fs::read_to_string(folder.join(ENDPOINTS))?;
    let keys: Vec<&str> = keys.lines().collect();
    (report.components, report.sets) = (keys.len(), arguments.sets);
    let each = 1024.0 * keys.len().max(1) as f64;
    report.disk_kb_each = bytes_below(&folder.join("cache/images")) as f64 / each;
    report.store_kb_each = std::fs::metadata(folder.join("store.db")).map_or(0.0, |file| file.len() as f64) / each;
    let begun = Instant::now();
    let server = start(arguments, folder, store).await?;
    report.start_ms = begun.elapsed().as_secs_f64() * 1000.0;
    tokio::time::sleep(IDLE).await;
    report.idle_heap_mb = server.process.memory_mb("RssAnon:");
    let calls: Vec<&&str> = keys.iter().collect();
    // The server's own first connection is not the components' doing.
    call_each(&server, calls.get(..1).unwrap_or_default()).await?;
    let cold = call_each(&server, calls.get(1..).unwrap_or_default()).await?;
    (report.cold_p50_ms, report.cold_p99_ms) = percentiles(&cold);
    let last = calls.get(calls.len().saturating_sub(20)..).unwrap_or_default();
    let mut warm = Vec::new();
    for _ in 0..20 {
        warm.push(call_each(&server, last).await?);
    }
    (report.warm_p50_ms, report.warm_p99_ms) = percentiles(warm.last().context("nothing was called")?);
    tokio::time::sleep(IDLE).await;
    report.called_heap_mb = server.process.memory_mb("RssAnon:");
    report.called_images_mb = server.process.memory_mb("RssShmem:");
    if arguments.minutes > 0 {
        report.growth_mb_per_minute = Some(churn(arguments, &server, &calls).await?);
    }
    server.process.stop().await
}

/// Calls and deploys for some minutes; by how much memory grew in each, after the first half.
async fn churn(arguments: &Arguments, server: &Wellspring, calls: &[&&str]) -> Result<f64> {
    let key = server.new_user(1000).await?;
    let (begun, whole) = (Instant::now(), Duration::from_secs(60 * arguments.minutes));
    let mut looks: Vec<(f64, f64)> = Vec::new();
    let mut number = 1_000_000;
    while begun.elapsed() < whole {
        call_each(server, calls).await?;
        // Before the next deploy: what the last one took is given back within seconds, and is not growth.
        let heap = server.process.memory_mb("RssAnon:").unwrap_or(0.0);
        looks.push((begun.elapsed().as_secs_f64() / 60.0, heap));
        let deployed = deploy(server, &key, &component(number, number % arguments.sets.max(1))).await;
        number += 1;
        if let Err(error) = deployed {
            eprintln!("{error:#}");
        }
    }
    Ok(slope(looks.get(looks.len() / 2..).unwrap_or_default()))
}

/// Of the line that fits best.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let together: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    if spread > 0.0 { together / spread } else { 0.0 }
}

fn percentiles(times: &Times) -> (f64, f64) {
    (times.percentile_us(50) / 1000.0, times.percentile_us(99) / 1000.0)
}

fn bytes_below(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}

fn print_table(report: &Report) {
    let row = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            println!("{name:<52}{value:>10.2} {unit}");
        }
    };
    println!("{} components of {} sets of packages; {} refused", report.components, report.sets, report.refused);
    row("memory budget", Some(report.budget_mb), "MB");
    row("heap while all are deployed in parallel, at most", report.deploy_peak_heap_mb, "MB");
    row("start, until the first answer", Some(report.start_ms), "ms");
    row("heap, idle after a start", report.idle_heap_mb, "MB");
    row("heap, after all were called", report.called_heap_mb, "MB");
    row("images in memory that are mapped", report.called_images_mb, "MB");
    row("store, for each component", Some(report.store_kb_each), "KB");
    row("images on disk, for each component", Some(report.disk_kb_each), "KB");
    row("call of a component that is not in memory, p50", Some(report.cold_p50_ms), "ms");
    row("  p99", Some(report.cold_p99_ms), "ms");
    row("call of one that is, p50", Some(report.warm_p50_ms), "ms");
    row("  p99", Some(report.warm_p99_ms), "ms");
    row("growth of the heap under calls and deploys", report.growth_mb_per_minute, "MB a minute");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{component, packages_of, slope};

    #[test]
    fn sets_are_distinct_and_every_component_is_its_own() {
        let sets: BTreeSet<Vec<&str>> = (0..200).map(|set| packages_of(set).collect()).collect();

        assert_eq!(sets.len(), 200);
        assert_ne!(component(1, 0), component(2, 0));
        assert!(component(1, 0).contains("from \"axios\""));
    }

    #[test]
    fn a_slope_is_what_is_added_for_each_unit() {
        assert!((slope(&[(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)]) - 2.0).abs() < 1e-9);
        assert_eq!(slope(&[]), 0.0);
    }
}
