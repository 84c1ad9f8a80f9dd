//! The storm over several hosts that share a Redis, behind a balancer: hosts are killed, paused past their leases, cut off from
//! Redis, given clocks that are wrong and restarted one after the other, and Redis is killed. With a Sentinel that is a fail-over,
//! and in a cluster the loss of one shard. Hosts are cut off by a wire that holds back what is sent to the only server there is, or in namespaces
//! of the network, where packets to every server of Redis are lost.
//!
//! Hosts may begin as an older program: then each rolling restart makes one of them the present one, and both work on one store.
//!
//! What must hold is what `storm.rs` says, and that a rolling restart refuses nothing.

mod host;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde::Serialize;
use tokio::sync::watch;

use self::host::Host;
use super::check::{self, Promise};
use super::manager::Manager;
use super::sender::{self, Lane, Log, Sending};
use super::stage::Stage;
use super::{Life, manage_for};
use crate::balancer::Balancer;
use crate::client::Client;
use crate::network::{Network, home};
use crate::redis::{Arrangement, Deployment};
use crate::served::KEY;

/// Hosts take over after five seconds: a pause of this many milliseconds is longer.
const PAUSE_MS: std::ops::Range<u64> = 5500..8000;
/// Shorter and longer than hosts wait for Redis, and than leases last.
const PARTITION_MS: std::ops::Range<u64> = 500..8000;
/// How long a host stays away that was killed.
const AWAY_MS: std::ops::Range<u64> = 0..7000;
/// How far a clock is off.
const SKEWS_SECONDS: [i32; 4] = [-300, -3, 3, 300];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub hosts: usize,
    pub faults: u32,
    pub seed: u64,
    pub redis: Arrangement,
    /// Hosts have network namespaces of their own.
    pub is_apart: bool,
    /// The program that hosts begin as, of an earlier version.
    pub older: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    Pause,
    Partition,
    KillRedis,
    Skew,
    RollingRestart,
}

/// What happened, and everything that should not have.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub hosts: usize,
    pub redis: String,
    pub namespaces: bool,
    pub seed: u64,
    pub faults: u32,
    pub kills: u32,
    pub pauses_past_the_lease: u32,
    pub partitions_from_redis: u32,
    pub kills_of_redis: u32,
    pub skewed_clocks: u32,
    pub rolling_restarts: u32,
    pub seconds: u64,
    pub requests: usize,
    pub answered: usize,
    pub not_answered_200: usize,
    /// Hosts that were of an older version before.
    pub upgrades: u32,
    /// Requests that were sent and answered while hosts were restarted one after the other.
    pub requests_in_rolling_restarts: usize,
    /// Not refused by a lack of hosts: so many were for one value at once that some were told to come again.
    pub contended_in_rolling_restarts: usize,
    pub refused_in_rolling_restarts: usize,
    pub events: usize,
    pub events_of_requests_not_answered_200: usize,
    pub runs_of_listener: usize,
    pub runs_of_workflow: usize,
    pub repeated_sends: u32,
    pub ticks: usize,
    pub deliveries: usize,
    pub repeated_deliveries: usize,
    pub managed: usize,
    pub violations: Vec<String>,
}

struct Storm {
    options: Options,
    redis: Option<Deployment>,
    hosts: Vec<Host>,
    /// Laid until hosts and Redis are gone.
    _network: Option<Network>,
    balancer: Balancer,
    client: Client,
    random: Rng,
    lives: watch::Sender<Life>,
    /// Odd while hosts are restarted one after the other.
    rolls: Arc<AtomicU64>,
    is_patient: bool,
    manager: Manager,
    report: Report,
}

/// Runs a storm over several hosts to its end.
pub async fn run(options: Options) -> Report {
    let started = Instant::now();
    let (mut storm, stage) = Storm::set_up(options).await;
    let sending = storm.start_senders(&stage);
    storm.rage().await;
    storm.lives.send_replace(Life::Over);
    let mut log = Log::default();
    for sender in sending {
        log.extend(sender.await.unwrap());
    }
    storm.reckon(stage, log, started).await
}

// === impl Storm ===

impl Storm {
    async fn set_up(options: Options) -> (Self, Stage) {
        let network = options.is_apart.then(|| Network::lay(options.hosts));
        let arrangement = options.redis;
        let redis = tokio::task::spawn_blocking(move || Deployment::start(arrangement)).await.unwrap();
        let namespaces: Vec<_> =
            (0..options.hosts).map(|it| network.as_ref().map(|network| network.namespace(it))).collect();
        let addresses = namespaces.iter().map(|namespace| namespace.as_ref().map_or(home(), |it| it.address.as_str()));
        let balancer = Balancer::plan(&addresses.collect::<Vec<_>>());
        let mut hosts = Vec::new();
        for (listen, namespace) in balancer.backends.iter().zip(namespaces) {
            let mut host = Host::new(&redis, (listen, namespace), &balancer.url()).await;
            if let Some(older) = &options.older {
                host.be_older(older);
            }
            host.start(true).await;
            hosts.push(host);
        }
        let balancer = balancer.start().await;
        let client = Client::new(&balancer.url(), KEY);
        let stage = Stage::set_up(&client).await;
        let random = Rng::with_seed(options.seed);
        let report = Report {
            hosts: options.hosts,
            redis: format!("{:?}", options.redis).to_lowercase(),
            namespaces: options.is_apart,
            seed: options.seed,
            ..Report::default()
        };
        let storm = Self {
            options,
            redis: Some(redis),
            hosts,
            _network: network,
            balancer,
            client,
            manager: Manager::new(random.clone()),
            random,
            lives: watch::Sender::new(Life::Up { is_patient: true }),
            rolls: Arc::default(),
            is_patient: true,
            report,
        };
        (storm, stage)
    }

    fn start_senders(&self, stage: &Stage) -> Vec<tokio::task::JoinHandle<Vec<sender::Sent>>> {
        let mut senders = Vec::new();
        for lane in [Lane::Ordered, Lane::Quick, Lane::Slow] {
            for number in 0..3 {
                let name = format!("{}-{number}", lane.name());
                let endpoint = stage.endpoint(lane).to_owned();
                let (lives, random) = (self.lives.subscribe(), Rng::with_seed(self.options.seed ^ (number + 1)));
                let (client, rolls, sink) = (stage.client.clone(), self.rolls.clone(), stage.sink.clone());
                senders.push(tokio::spawn(Sending { lane, name, endpoint, client, lives, random, rolls, sink }.run()));
            }
        }
        senders
    }

    async fn rage(&mut self) {
        while self.report.faults < self.options.faults {
            // In the second half hosts answer before a run has ended, and what is ordered is not sent any more.
            if self.is_patient && self.report.faults >= self.options.faults / 2 {
                self.is_patient = false;
                self.lives.send_replace(Life::Up { is_patient: false });
                self.restart_each().await;
            }
            let until_ms = self.random.u64(200..2500);
            manage_for(&mut self.manager, &self.client, until_ms).await;
            let fault = self.next_fault();
            self.report.faults += 1;
            eprintln!("  fault {} of {}: {fault:?}", self.report.faults, self.options.faults);
            self.strike(fault).await;
            self.all_are_up().await;
        }
    }

    fn next_fault(&mut self) -> Fault {
        // One of each kind first, so that a short storm has all.
        let each = [Fault::Kill, Fault::Pause, Fault::Partition, Fault::KillRedis, Fault::Skew, Fault::RollingRestart];
        let fault = each.get(self.report.faults as usize).copied();
        let fault = fault.unwrap_or_else(|| match self.random.u8(..100) {
            0..35 => Fault::Kill,
            35..55 => Fault::Pause,
            55..75 => Fault::Partition,
            75..83 => Fault::KillRedis,
            83..93 => Fault::Skew,
            _ => Fault::RollingRestart,
        });
        // Without namespaces there is a wire to cut only to a server that is alone.
        let can_be_cut = self.options.is_apart || self.options.redis == Arrangement::Alone;
        if fault == Fault::Partition && !can_be_cut { Fault::KillRedis } else { fault }
    }

    async fn strike(&mut self, fault: Fault) {
        let (which, is_patient) = (self.random.usize(..self.hosts.len()), self.is_patient);
        let (away_ms, pause_ms) = (self.random.u64(AWAY_MS), self.random.u64(PAUSE_MS));
        let partition_ms = self.random.u64(PARTITION_MS);
        let skew_seconds = SKEWS_SECONDS[self.random.usize(..SKEWS_SECONDS.len())];
        let host = &mut self.hosts[which];
        match fault {
            Fault::Kill => {
                host.kill().await;
                pass(away_ms).await;
                host.start(is_patient).await;
                self.report.kills += 1;
            }
            Fault::Pause => {
                host.pause_for(pause_ms).await;
                self.report.pauses_past_the_lease += 1;
            }
            Fault::Partition => {
                host.cut_off_for(partition_ms).await;
                self.report.partitions_from_redis += 1;
            }
            Fault::KillRedis => {
                let mut redis = self.redis.take().expect("it is always put back");
                let killing = tokio::task::spawn_blocking(move || {
                    redis.strike(which, Duration::from_millis(away_ms));
                    redis
                });
                self.redis = Some(killing.await.unwrap());
                self.report.kills_of_redis += 1;
            }
            Fault::Skew => {
                host.kill().await;
                host.skew(skew_seconds);
                host.start(is_patient).await;
                self.report.skewed_clocks += 1;
            }
            Fault::RollingRestart => {
                self.rolls.fetch_add(1, Ordering::SeqCst);
                self.restart_each().await;
                self.rolls.fetch_add(1, Ordering::SeqCst);
                self.report.rolling_restarts += 1;
            }
        }
    }

    /// One after the other, as an operator who upgrades: the next when the balancer has the one before again. Clocks that were
    /// wrong are right then, and one of the hosts that are of an older version is of the present one.
    async fn restart_each(&mut self) {
        let upgraded = self.hosts.iter().position(|host| host.is_older);
        for which in 0..self.hosts.len() {
            self.hosts[which].stop().await;
            self.hosts[which].skew(0);
            if Some(which) == upgraded {
                self.hosts[which].upgrade();
                self.report.upgrades += 1;
            }
            self.hosts[which].start(self.is_patient).await;
            self.all_are_up().await;
        }
    }

    async fn all_are_up(&self) {
        for host in &self.hosts {
            host.is_ready().await;
        }
        self.balancer.all_are_up().await;
    }

    async fn reckon(mut self, mut stage: Stage, log: Log, started: Instant) -> Report {
        // What is left to be seen is in the store; the balancer has been judged.
        stage.client = self.hosts[0].client.clone();
        self.manager.verify(&stage.client).await;
        let mut found = stage.settle(&log).await;
        stage.read_again(&mut found).await;
        let mut report = std::mem::take(&mut self.report);
        report.violations = std::mem::take(&mut self.manager.violations);
        report.violations.extend(check::check(&stage, &log, &found, Promise::ByAnyHost));
        report.seconds = started.elapsed().as_secs();
        report.requests = log.all().count();
        report.answered = log.count(sender::Sent::is_answered);
        report.not_answered_200 = report.requests - report.answered;
        report.requests_in_rolling_restarts = log.count(|sent| sent.is_in_roll);
        let in_rolls: Vec<_> = log.all().filter(|sent| sent.is_in_roll && !sent.is_answered()).collect();
        let (contended, refused): (Vec<_>, Vec<_>) = in_rolls.into_iter().partition(|sent| sent.is_contended());
        (report.contended_in_rolling_restarts, report.refused_in_rolling_restarts) = (contended.len(), refused.len());
        report.events = found.requests().count();
        report.events_of_requests_not_answered_200 = check::events_of_unanswered(&log, &found);
        report.runs_of_listener = found.listener.len();
        report.runs_of_workflow = found.workflow.len();
        report.ticks = found.ticks.len();
        report.managed = self.manager.acknowledged;
        {
            let sink = stage.sink.lock();
            report.repeated_sends = sink.sent.values().map(|times| times.saturating_sub(1)).sum();
            (report.deliveries, report.repeated_deliveries) = (sink.arrived, sink.repeated);
        }
        for sent in refused {
            let (sender, status, why) = (&sent.sender, sent.status.unwrap_or_default(), &sent.why);
            report
                .violations
                .push(format!("refused in a rolling restart: {} of {sender}, {status} {why}", sent.number));
        }
        if !report.violations.is_empty() {
            self.hosts.iter().for_each(Host::tell);
            stage.tell().await;
        }
        report
    }
}

/// A fault lasts as long as it lasts.
async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
