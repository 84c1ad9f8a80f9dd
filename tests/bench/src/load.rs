//! The load: the same requests, from a process of its own, for every server that is measured.
//!
//! As many requests at once as there are connections, each connection sending its next one when it was answered; or,
//! with a rate, each at its planned time. Then a request that had to wait for the one before it counts from the time
//! it was planned for, so that a server that stalls cannot hide it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::task::JoinSet;

use super::http::Target;
use super::pace::Watch;
use super::statistics::Times;
use super::wire::Wire;

/// A small webhook.
pub(crate) const BODY: &[u8] = br#"{"id":"evt_8DZ1sX2","type":"issue.opened","created":1791849600000,"actor":{"id":7,"name":"ada"},"issue":{"number":42,"title":"The answer","labels":["question","life"],"body":"Deep thought has been asked again, and this time it wants more time."}}"#;
/// Connections and caches get warm before anything is counted.
pub(crate) const WARM_UP: Duration = Duration::from_secs(1);

#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Load {
    #[arg(long)]
    pub(crate) connections: usize,
    /// How long it is measured
    #[arg(long)]
    pub(crate) seconds: f64,
    /// Requests per second; as many as there can be when it is not given
    #[arg(long)]
    pub(crate) rate: Option<f64>,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    url: String,
    #[command(flatten)]
    load: Load,
}

/// What one load saw.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) requests_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Answers other than 2xx.
    pub(crate) failed: usize,
    /// With a rate.
    pub(crate) machine: Option<Machine>,
}

/// What the machine itself had to do with it: see `pace.rs`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// How much of the time it did not keep its pace.
    pub(crate) slow_share: f64,
    /// Of requests that were sent and answered while it did.
    pub(crate) calm_p99_ms: f64,
}

/// Puts load on a server, from another process.
pub(crate) async fn put_on(url: &str, load: Load) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["load", url]).kill_on_drop(true);
    command.args(["--connections", &load.connections.to_string(), "--seconds", &load.seconds.to_string()]);
    if let Some(rate) = load.rate {
        command.args(["--rate", &rate.to_string()]);
    }
    let output = command.stderr(std::process::Stdio::inherit()).output().await?;
    if !output.status.success() {
        bail!("the load on {url} ended with {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the load did not say what it saw")
}

/// The other process. One thread, so that most of the machine is left to the measured servers.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let figures = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(measure(&arguments.url, arguments.load))
    });
    println!("{}", serde_json::to_string(&figures.await??)?);
    Ok(())
}

async fn measure(url: &str, load: Load) -> Result<Figures> {
    let target = Target::parse(url)?;
    let begun = Instant::now();
    let counted_from = begun + WARM_UP;
    let until = counted_from + Duration::from_secs_f64(load.seconds);
    let watch = load.rate.map(|_| Watch::start(counted_from, until));
    let mut clients = JoinSet::new();
    for number in 0..load.connections {
        let schedule = load.rate.map(|rate| Schedule::of_connection(number, load.connections, rate, begun));
        clients.spawn(client(target.clone(), schedule, counted_from, until));
    }
    let (mut answered, mut failed) = (Vec::new(), 0);
    while let Some(client) = clients.join_next().await {
        let (more_answered, more_failed) = client??;
        answered.extend(more_answered);
        failed += more_failed;
    }
    let machine = watch.map(Watch::end).map(|slices| {
        let is_calm = |(sent, time): &&Answered| slices.is_calm(*sent - counted_from, *sent + *time - counted_from);
        let calm = answered.iter().filter(is_calm).map(|(_, time)| *time);
        let calm_p99_ms = Times::new(calm.collect()).percentile_us(99) / 1000.0;
        Machine { slow_share: slices.slow_share(), calm_p99_ms }
    });
    let requests_per_s = answered.len() as f64 / load.seconds;
    let times = Times::new(answered.into_iter().map(|(_, time)| time).collect());
    let milliseconds = |percent| times.percentile_us(percent) / 1000.0;
    Ok(Figures { requests_per_s, p50_ms: milliseconds(50), p99_ms: milliseconds(99), failed, machine })
}

/// When a request counts from, and how long it took.
type Answered = (Instant, Duration);

/// When one connection sends.
struct Schedule {
    next: Instant,
    every: Duration,
}

// === impl Schedule ===

impl Schedule {
    fn of_connection(number: usize, connections: usize, rate: f64, begun: Instant) -> Self {
        let every = Duration::from_secs_f64(connections as f64 / rate);
        Self { next: begun + every.mul_f64(number as f64 / connections as f64), every }
    }

    /// Waits for the next planned time, and returns when the request counts from. That the timer of this process is
    /// late is not the server's doing; that the connection is still busy is.
    async fn wait(&mut self) -> Instant {
        let planned = self.next;
        self.next += self.every;
        if planned <= Instant::now() {
            return planned;
        }
        tokio::time::sleep_until(planned.into()).await;
        Instant::now()
    }
}

async fn client(
    target: Target,
    mut schedule: Option<Schedule>,
    counted_from: Instant,
    until: Instant,
) -> Result<(Vec<Answered>, usize)> {
    let mut wire = Wire::connect(target.authority(), target.path(), BODY).await?;
    let (mut times, mut failed) = (Vec::new(), 0);
    loop {
        let sent = match &mut schedule {
            Some(schedule) => schedule.wait().await,
            None => Instant::now(),
        };
        if sent >= until {
            return Ok((times, failed));
        }
        let status = wire.send().await?;
        let answered = Instant::now();
        if sent < counted_from || answered > until {
            continue;
        }
        if (200..300).contains(&status) {
            times.push((sent, answered - sent));
        } else {
            failed += 1;
        }
    }
}
