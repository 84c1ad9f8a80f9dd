//! `just bench scale`: what a request costs on one, two and three hosts that share a Redis.
//!
//! Every row has the same rate of requests in all, divided among its hosts, because what is compared is the cost of one request
//! and not how many fit: on one machine hosts take each other's processor. Counted is the processor time of the hosts and of Redis
//! over the whole load, and what Redis was asked meanwhile, both without what they do when there is no load at all.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::contenders::{COMPONENT, Wellspring, redis};
use super::load::{self, Load, WARM_UP};
use super::process::Process;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// The most hosts
    #[arg(long, default_value_t = 3)]
    hosts: usize,
    /// Requests per second, of all hosts together
    #[arg(long, default_value_t = 600.0)]
    rate: f64,
    /// How long each number of hosts is measured
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Connections to each host
    #[arg(long, default_value_t = 16)]
    connections: usize,
}

#[derive(Serialize)]
struct Report {
    requests_per_s: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    hosts: usize,
    host_cpu_us_per_request: f64,
    redis_cpu_us_per_request: f64,
    /// Calls of scripts and functions, and all commands, those within scripts as well.
    scripts_per_request: f64,
    commands_per_request: f64,
    p99_ms: f64,
    failed: usize,
    /// Of all hosts together, without load.
    idle_scripts_per_s: f64,
    idle_host_cpu_ms_per_s: f64,
}

/// What was used so far.
#[derive(Clone, Copy)]
struct Used {
    host_cpu_s: f64,
    redis_cpu_s: f64,
    scripts: f64,
    commands: f64,
}

struct Cluster {
    redis: Process,
    hosts: Vec<Wellspring>,
    /// The path of an endpoint, which every host has.
    key: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let mut rows = Vec::new();
    for hosts in 1..=arguments.hosts.max(1) {
        let folder = tempfile::tempdir()?;
        let cluster = Cluster::start(folder.path(), hosts).await?;
        rows.push(cluster.measure(&arguments).await?);
    }
    let report = Report { requests_per_s: arguments.rate, rows };
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

// === impl Cluster ===

impl Cluster {
    async fn start(folder: &Path, count: usize) -> Result<Self> {
        let redis = redis(folder).await?;
        let store = format!("redis://127.0.0.1:{}", redis.port);
        let data = |number: usize| folder.join(format!("host-{number}"));
        let mut hosts = vec![Wellspring::start(&data(0), Some(&store)).await?];
        for number in 1..count {
            std::fs::create_dir_all(data(number))?;
            // Hosts that share a store have the same key.
            std::fs::copy(data(0).join("encryption.key"), data(number).join("encryption.key"))?;
            hosts.push(Wellspring::start(&data(number), Some(&store)).await?);
        }
        let first = hosts.first().context("at least one host")?;
        first.raise_quotas().await?;
        let key = first.deploy(&first.save(COMPONENT).await?).await?;
        Ok(Self { redis, hosts, key })
    }

    async fn measure(&self, arguments: &Arguments) -> Result<Row> {
        let count = self.hosts.len() as f64;
        // Images and caches of every host are made before anything is counted.
        self.load(arguments, 1.0).await?;
        let idle = self.used_over(Duration::from_secs_f64(arguments.seconds.min(10.0))).await?;
        let before = self.used().await?;
        let figures = self.load(arguments, arguments.seconds).await?;
        let seconds = arguments.seconds + WARM_UP.as_secs_f64();
        let used = self.used().await?.since(before).without(idle, seconds);
        let requests = arguments.rate * seconds;
        let failed = figures.iter().map(|figures| figures.failed).sum();
        ensure!(figures.len() == self.hosts.len(), "every host was measured");
        Ok(Row {
            hosts: self.hosts.len(),
            host_cpu_us_per_request: used.host_cpu_s * 1e6 / requests,
            redis_cpu_us_per_request: used.redis_cpu_s * 1e6 / requests,
            scripts_per_request: used.scripts / requests,
            commands_per_request: used.commands / requests,
            p99_ms: figures.iter().map(|figures| figures.p99_ms).sum::<f64>() / count,
            failed,
            idle_scripts_per_s: idle.scripts,
            idle_host_cpu_ms_per_s: idle.host_cpu_s * 1e3,
        })
    }

    /// The same on every host at the same time.
    async fn load(&self, arguments: &Arguments, seconds: f64) -> Result<Vec<load::Figures>> {
        let rate = Some(arguments.rate / self.hosts.len() as f64);
        let load = Load { connections: arguments.connections, seconds, rate };
        let loads = self.hosts.iter().map(|host| async move { load::put_on(&host.endpoint(&self.key), load).await });
        try_join_all(loads).await
    }

    /// Of one second, without load.
    async fn used_over(&self, time: Duration) -> Result<Used> {
        let before = self.used().await?;
        tokio::time::sleep(time).await;
        Ok(self.used().await?.since(before).times(1.0 / time.as_secs_f64()))
    }

    async fn used(&self) -> Result<Used> {
        let cpu = |process: &Process| process.cpu_s().context("only Linux tells the processor time of a process");
        let mut host_cpu_s = 0.0;
        for host in &self.hosts {
            host_cpu_s += cpu(&host.process)?;
        }
        let statistics = information(self.redis.port, "commandstats").await?;
        let calls = |is_counted: fn(&str) -> bool| -> f64 {
            let counted = statistics.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="));
            let counted = counted.filter(|(name, _)| is_counted(name));
            counted.filter_map(|(_, rest)| rest.split(',').next()?.parse::<f64>().ok()).sum()
        };
        let scripts = calls(|name| ["fcall", "evalsha", "eval"].contains(&name));
        Ok(Used { host_cpu_s, redis_cpu_s: cpu(&self.redis)?, scripts, commands: calls(|name| name != "info") })
    }
}

// === impl Used ===

impl Used {
    fn since(self, before: Self) -> Self {
        self.plus(before.times(-1.0))
    }

    /// Without what is used anyway in so many seconds.
    fn without(self, each_second: Self, seconds: f64) -> Self {
        self.plus(each_second.times(-seconds))
    }

    fn times(self, factor: f64) -> Self {
        Self {
            host_cpu_s: self.host_cpu_s * factor,
            redis_cpu_s: self.redis_cpu_s * factor,
            scripts: self.scripts * factor,
            commands: self.commands * factor,
        }
    }

    fn plus(self, more: Self) -> Self {
        Self {
            host_cpu_s: self.host_cpu_s + more.host_cpu_s,
            redis_cpu_s: self.redis_cpu_s + more.redis_cpu_s,
            scripts: self.scripts + more.scripts,
            commands: self.commands + more.commands,
        }
    }
}

/// A section of what Redis tells of itself.
async fn information(port: u16, section: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(format!("INFO {section}\r\nQUIT\r\n").as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

fn print_table(report: &Report) {
    println!("{} requests a second in all, on each number of hosts", report.requests_per_s);
    println!(
        "hosts  host CPU/request  Redis CPU/request  scripts/request  commands/request   p99 ms  failed  idle scripts/s"
    );
    for row in &report.rows {
        println!(
            "{:>5}  {:>13.0} µs  {:>14.0} µs  {:>15.2}  {:>16.1}  {:>7.2}  {:>6}  {:>14.2}",
            row.hosts,
            row.host_cpu_us_per_request,
            row.redis_cpu_us_per_request,
            row.scripts_per_request,
            row.commands_per_request,
            row.p99_ms,
            row.failed,
            row.idle_scripts_per_s,
        );
    }
}
