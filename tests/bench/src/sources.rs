//! `just bench sources`: a host with ten thousand deployed sources, of which one in a hundred is used.
//!
//! The sources are deployed, the server is started again, and the figures are those of the second start: nothing has
//! run in it yet. A folder that is given is kept, so that a second bench need not deploy again. With `--redis` the memory that
//! Redis takes for each source is told as well. The full size: `just bench sources --sources 100000 --components 10000`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::contenders::{COMPONENT, Wellspring, redis};
use super::http::Target;
use super::load::BODY;
use super::statistics::Times;

/// An account may have twice as many.
const SOURCES_PER_ACCOUNT: usize = 5_000;
/// Deploys under way at once.
const DEPLOYERS: usize = 4;
/// Endpoints of what was deployed, one on a line, in the bench's folder.
const ENDPOINTS: &str = "endpoints";
/// How long a server is left in peace before it counts as idle.
const IDLE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    #[arg(long, default_value_t = 10_000)]
    sources: usize,
    /// Components they are made from; each has its own code and image
    #[arg(long, default_value_t = 100)]
    components: usize,
    /// Keep everything in a Redis that is started for the bench
    #[arg(long)]
    redis: bool,
    /// Keep the deployed sources here, or use those that are
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    sources: usize,
    /// None when the folder held them already.
    deployed: Option<Deployed>,
    /// From the start of the process to the first answer.
    start_ms: f64,
    idle_mb: Option<f64>,
    called: usize,
    first_call_p50_ms: f64,
    first_call_p99_ms: f64,
    first_call_most_ms: f64,
    second_call_p50_ms: f64,
    used_mb: Option<f64>,
}

#[derive(Serialize)]
struct Deployed {
    components: usize,
    each_ms: f64,
    /// Of Redis, beyond what its components take.
    redis_bytes_each: Option<f64>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let own = tempfile::tempdir()?;
    let folder = arguments.folder.clone().unwrap_or_else(|| own.path().to_owned());
    std::fs::create_dir_all(&folder)?;
    let redis = if arguments.redis { Some(redis(&folder).await?) } else { None };
    let port = redis.as_ref().map(|redis| redis.port);
    let deployed = match folder.join(ENDPOINTS).exists() {
        true => None,
        false => Some(deploy(&arguments, &folder, port).await?),
    };
    let report = measure(&folder, port, deployed).await?;
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Deploys everything, and stops the server it was deployed to.
async fn deploy(arguments: &Arguments, folder: &Path, redis: Option<u16>) -> Result<Deployed> {
    if !arguments.json {
        eprintln!("saving {} components and deploying {} sources", arguments.components, arguments.sources);
    }
    let server = Arc::new(start(folder, redis).await?);
    let mut accounts = Vec::new();
    for number in 0..arguments.sources.div_ceil(SOURCES_PER_ACCOUNT).max(1) {
        accounts.push(Arc::<str>::from(server.new_user(number).await?));
    }
    let mut components = Vec::with_capacity(arguments.components);
    for (number, account) in (0..arguments.components.max(accounts.len())).zip(accounts.iter().cycle()) {
        components.push((account.clone(), server.save_as(account, &format!("// {number}\n{COMPONENT}")).await?));
    }
    let before = redis_memory(redis).await?;
    let begun = Instant::now();
    let mut deploying = JoinSet::new();
    let mut keys = Vec::with_capacity(arguments.sources);
    for (account, component) in components.iter().cycle().take(arguments.sources) {
        if deploying.len() == DEPLOYERS {
            keys.extend(deploying.join_next().await.transpose()?.transpose()?);
        }
        let (server, account, component) = (server.clone(), account.clone(), component.clone());
        deploying.spawn(async move { server.deploy_as(&account, &component).await });
    }
    while let Some(key) = deploying.join_next().await {
        keys.push(key??);
    }
    let sources = arguments.sources.max(1) as f64;
    let each_ms = begun.elapsed().as_secs_f64() * 1000.0 / sources;
    let after = redis_memory(redis).await?;
    let redis_bytes_each = after.zip(before).map(|(after, before)| (after - before) / sources);
    Arc::into_inner(server).context("a deploy goes on")?.process.stop().await?;
    std::fs::write(folder.join(ENDPOINTS), keys.join("\n"))?;
    Ok(Deployed { components: components.len(), each_ms, redis_bytes_each })
}

async fn start(folder: &Path, redis: Option<u16>) -> Result<Wellspring> {
    let store = redis.map(|port| format!("redis://127.0.0.1:{port}/0"));
    Wellspring::start(folder, store.as_deref()).await
}

/// What Redis says it uses.
async fn redis_memory(port: Option<u16>) -> Result<Option<f64>> {
    let Some(port) = port else { return Ok(None) };
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await?;
    connection.write_all(b"INFO memory\r\nQUIT\r\n").await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    let used = answer.lines().find_map(|line| line.strip_prefix("used_memory:"));
    Ok(Some(used.context("Redis does not tell its memory")?.trim().parse()?))
}

async fn measure(folder: &Path, redis: Option<u16>, deployed: Option<Deployed>) -> Result<Report> {
    let keys = std::fs::read_to_string(folder.join(ENDPOINTS))?;
    let keys: Vec<&str> = keys.lines().collect();
    let begun = Instant::now();
    let server = start(folder, redis).await?;
    let start_ms = begun.elapsed().as_secs_f64() * 1000.0;
    tokio::time::sleep(IDLE).await;
    let idle_mb = server.process.resident_mb();
    // Spread over all, so that each has another component.
    let called: Vec<&&str> = keys.iter().step_by(101).collect();
    // The server's own first connection and its first look at the account are not the sources' doing.
    call_each(&server, keys.last().as_slice()).await?;
    let first = call_each(&server, &called).await?;
    let second = call_each(&server, &called).await?;
    Ok(Report {
        sources: keys.len(),
        deployed,
        start_ms,
        idle_mb,
        called: called.len(),
        first_call_p50_ms: first.percentile_us(50) / 1000.0,
        first_call_p99_ms: first.percentile_us(99) / 1000.0,
        first_call_most_ms: first.percentile_us(100) / 1000.0,
        second_call_p50_ms: second.percentile_us(50) / 1000.0,
        used_mb: server.process.resident_mb(),
    })
}

/// One after the other, over one connection.
pub(crate) async fn call_each(server: &Wellspring, keys: &[&&str]) -> Result<Times> {
    let mut connection = Target::parse(&server.endpoint(""))?.connect().await?;
    let mut times = Vec::with_capacity(keys.len());
    for key in keys {
        let request = Target::parse(&server.endpoint(key))?.json(Bytes::from_static(BODY))?;
        let begun = Instant::now();
        let (status, _) = connection.send(request).await?;
        times.push(begun.elapsed());
        ensure!(status.is_success(), "an endpoint answered {status}");
    }
    Ok(Times::new(times))
}

fn print_table(report: &Report) {
    let row = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            println!("{name:<44}{value:>10.2} {unit}");
        }
    };
    println!("{} sources, {} of them called", report.sources, report.called);
    if let Some(deployed) = &report.deployed {
        println!("made from {} components", deployed.components);
        row("deploy, each", Some(deployed.each_ms), "ms");
        row("memory of Redis, each", deployed.redis_bytes_each, "bytes");
    }
    row("start, until the first answer", Some(report.start_ms), "ms");
    row("memory, idle", report.idle_mb, "MB");
    row("first call of a source that never ran, p50", Some(report.first_call_p50_ms), "ms");
    row("  p99", Some(report.first_call_p99_ms), "ms");
    row("  at most", Some(report.first_call_most_ms), "ms");
    row("second call, p50", Some(report.second_call_p50_ms), "ms");
    row("memory, after the calls", report.used_mb, "MB");
}
