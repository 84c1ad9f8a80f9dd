//! A host among others: it answers before it is ready, says that it is there, and drains before it stops.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use platform::Platform;
use platform::flow::{self, Handle};
use platform::hosts::{self, HostConfig};
use platform::manage::first_start;
use server::front;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::doctor;
use crate::logging;
use crate::settings::Settings;
use crate::wiring::assembly::store_file;

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At once: its user is waiting.
    Now,
    /// After its clients have noticed.
    Drain,
}

/// Answers at the port while the rest of the server is opened.
pub(super) struct Starting {
    ready: CancellationToken,
    answering: JoinHandle<TcpListener>,
}

/// What a host does as one of several.
#[derive(Clone)]
pub(super) struct Hosting {
    pub(super) handle: Handle,
    pub(super) drain: Duration,
    pub(super) settings: Settings,
    /// Ends the server.
    pub(super) stop: CancellationToken,
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn asked_to_stop(stop: CancellationToken) -> Result<Ending> {
    let mut terminate = signal(SignalKind::terminate())?;
    // Any is enough; all are cancel-safe.
    let ending = tokio::select! {
        _ = tokio::signal::ctrl_c() => Ending::Now,
        _ = terminate.recv() => Ending::Drain,
        () = stop.cancelled() => Ending::Now,
    };
    logging::say("shutting down; finishing in-flight work");
    Ok(ending)
}

/// Returns when the time is over, or at a second signal.
#[expect(clippy::disallowed_methods, reason = "balancers notice in real time")]
pub(super) async fn wait_to_drain(drain: Duration) {
    if drain.is_zero() {
        return;
    }
    let again = asked_to_stop(CancellationToken::new());
    logging::say(&format!("still accepting for {} s; a second signal ends that", drain.as_secs()));
    // Either is enough; both are cancel-safe.
    tokio::select! {
        () = tokio::time::sleep(drain) => {}
        _ = again => {}
    }
}

/// Sets the clock by the store and makes this host known, before anything is decided by time.
pub(super) async fn join(platform: &Platform, settings: &Settings, url: &str) -> Result<()> {
    platform.hosts().describe(HostConfig {
        name: machine_name(),
        address: url.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: agreed(settings),
        read_only: platform.is_read_only(),
        reads: settings.reads_layout(),
    });
    hosts::beat(platform).await.context("the store does not take heartbeats of this server")?;
    Ok(())
}

/// Data of this folder would seem lost in a store that is new: that is not what an operator wants who moves to a shared one.
pub(super) async fn check_not_left_behind(platform: &Platform, settings: &Settings) -> Result<()> {
    let left = store_file(settings);
    if settings.store.is_none() || !left.is_file() || !first_start::is_empty(platform).await? {
        return Ok(());
    }
    let (data, left) = (settings.data.display(), left.display());
    bail!(
        "the shared store is empty, and {left} has data, which would be left behind: move it with \
         `wellspring migrate --from {data} --to URL`, or take the file away to begin anew"
    );
}

/// A server that changes nothing cannot make the first account either.
pub(super) async fn check_there_is_something_to_read(platform: &Platform) -> Result<()> {
    if platform.is_read_only() && first_start::is_empty(platform).await? {
        bail!("there is nothing to read: `--read-only` is for a store that a server has used before");
    }
    Ok(())
}

/// Looks whether the store keeps what it is given: says what is at risk, or ends the start when that is wanted.
pub(super) async fn check_durability(platform: &Platform, settings: &Settings) -> Result<()> {
    if settings.store.is_none() {
        return Ok(());
    }
    let problems = doctor::keeping::problems(&doctor::keeping::check(platform, settings).await);
    for problem in &problems {
        logging::warn(problem);
    }
    if settings.require_durable && !problems.is_empty() {
        bail!("the store does not keep what it is given, and --require-durable says that it must");
    }
    Ok(())
}

/// The same every hour: settings of a server that runs are changed, and replicas go away.
#[expect(clippy::disallowed_methods, reason = "once an hour, in real time")]
pub(super) async fn watch_durability(platform: Platform, settings: Settings, shutdown: CancellationToken) {
    const HOUR: Duration = Duration::from_secs(3600);
    let mut settings = settings;
    settings.require_durable = false;
    while shutdown.run_until_cancelled(tokio::time::sleep(HOUR)).await.is_some() {
        // It only warns: what runs is not ended.
        let _ = check_durability(&platform, &settings).await;
    }
}

/// Leases of hosts that may die are short; those of the only process end with it.
pub(super) fn flow_config(settings: &Settings) -> flow::Config {
    let config = flow::Config::default();
    flow::Config { lease_ms: settings.lease_ms().unwrap_or(config.lease_ms), ..config }
}

/// What must be the same on every host, or tenants would be treated by which of them they reach.
fn agreed(settings: &Settings) -> BTreeMap<String, String> {
    settings.to_agree_on().into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

// === impl Starting ===

impl Starting {
    #[expect(clippy::disallowed_methods, reason = "awaited by `end`, and aborted without it")]
    pub(super) fn answer(listener: TcpListener) -> Self {
        let ready = CancellationToken::new();
        let answering = tokio::spawn(front::answer_while_starting(listener, ready.clone()));
        Self { ready, answering }
    }

    pub(super) async fn end(mut self) -> Result<TcpListener> {
        self.ready.cancel();
        (&mut self.answering).await.context("answering before the start ended with a panic")
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

// === impl Hosting ===

impl Hosting {
    pub(super) async fn watch_store(self, platform: Platform, shutdown: CancellationToken) {
        if self.settings.store.is_some() {
            watch_durability(platform, self.settings, shutdown).await;
        }
    }

    pub(super) async fn beat(self, platform: Platform, shutdown: CancellationToken) {
        let handle = self.handle;
        platform.hosts().count_with(move || handle.in_flight());
        if !hosts::run(platform, shutdown).await {
            self.stop.cancel();
        }
    }
}
