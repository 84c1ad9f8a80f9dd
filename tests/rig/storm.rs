//! The storm: a server that is killed with `kill -9` again and again while requests, timers, deliveries and the
//! management API are at work, and a reckoning at the end.
//!
//! What must hold, whatever moment the server dies at:
//! - a request that was answered 200 has its event in the store exactly once, and so has its state;
//! - a counter that concurrent requests increment is the number of events;
//! - every event in the store reaches the receiver at least once, signed, in its emitter's order, and nothing else does;
//! - event ids rise; requests that follow each other stay in order; a listening source and a timer count without a gap;
//! - every event that triggers the workflow has one run that comes to its end, whose steps are each committed once;
//!   what it sends arrives at least once, and nothing else does;
//! - what the management API acknowledged is there after each restart, and whole.

mod check;
pub mod hosts;
mod manager;
mod sender;
mod sink;
mod stage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde::Serialize;
use tokio::sync::watch;

use crate::client::Client;
use crate::port::lasting_port;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::served::{DataFolder, Served};
use check::Promise;
use manager::Manager;
use sender::{Lane, Log, Sending};
use stage::Stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub engine: Engine,
    pub kills: u32,
    pub seed: u64,
    /// The server of the store is killed as well, at one kill in ten.
    pub kills_store: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    Sqlite,
    Redis,
    Postgres,
}

/// What has the data of a server that shares its store.
enum Keeper {
    Redis(Redis),
    Postgres(Postgres),
}

/// What happened, and everything that should not have.
#[derive(Debug, Serialize)]
pub struct Report {
    pub store: Engine,
    pub seed: u64,
    pub kills: u32,
    pub kills_during_start: u32,
    pub kills_of_store: u32,
    pub seconds: u64,
    pub requests: usize,
    pub answered: usize,
    /// The server died before it answered: the event may be there or not, but not twice.
    pub unanswered: usize,
    /// Answered with anything but 200.
    pub refused: usize,
    pub events: usize,
    pub events_of_unanswered: usize,
    pub runs_of_listener: usize,
    pub runs_of_workflow: usize,
    pub repeated_sends: u32,
    pub ticks: usize,
    pub deliveries: usize,
    pub repeated_deliveries: usize,
    pub managed: usize,
    pub violations: Vec<String>,
}

/// Whether there is a server to talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Down,
    /// `is_patient`: it answers when a run is committed. Otherwise it answers a slow one before, and goes on.
    Up {
        is_patient: bool,
    },
    Over,
}

/// What was killed.
#[derive(Default)]
struct Kills {
    all: u32,
    during_start: u32,
    of_store: u32,
}

/// The world outside of the server while it lives and dies.
struct Storm {
    options: Options,
    place: DataFolder,
    keeper: Option<Keeper>,
    random: Rng,
    lives: watch::Sender<Life>,
    manager: Manager,
    kills: Kills,
}

/// Runs a storm to its end.
pub async fn run(options: Options) -> Report {
    let started = Instant::now();
    let keeper = Keeper::start(options.engine);
    let mut place = DataFolder::in_store(keeper.as_ref().map(Keeper::url));
    place.listen = format!("127.0.0.1:{}", lasting_port());
    // Everything is kept for the reckoning; a request whose run was lost is run again soon.
    place.options.extend(["--keep-events", "1000000", "--http-deadline-ms", "5000"].map(str::to_owned));
    let random = Rng::with_seed(options.seed);
    let lives = watch::Sender::new(Life::Down);
    let mut storm =
        Storm { options, place, keeper, manager: Manager::new(random.clone()), random, lives, kills: Kills::default() };
    let stage = storm.set_up().await;
    let sending = storm.start_senders(&stage);
    storm.rage().await;
    storm.lives.send_replace(Life::Over);
    let mut log = Log::default();
    for sender in sending {
        log.extend(sender.await.unwrap());
    }
    storm.reckon(stage, log, started).await
}

/// Uses the management API for a while, and is cut off in the middle of a call, as a client that gives up does.
async fn manage_for(manager: &mut Manager, client: &Client, ms: u64) {
    let _ = tokio::time::timeout(Duration::from_millis(ms), manager.manage(client)).await;
}

// === impl Keeper ===

impl Keeper {
    fn start(engine: Engine) -> Option<Self> {
        match engine {
            Engine::Sqlite => None,
            Engine::Redis => Some(Self::Redis(Redis::start())),
            Engine::Postgres => Some(Self::Postgres(Postgres::start())),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Postgres(postgres) => postgres.url(),
        }
    }

    fn kill_and_restart(&mut self) {
        match self {
            Self::Redis(redis) => redis.kill_and_restart(),
            Self::Postgres(postgres) => postgres.kill_and_restart(),
        }
    }
}

// === impl Storm ===

impl Storm {
    async fn start(&self, is_patient: bool) -> Served {
        let mut place = self.place.options.clone();
        let accept_after_ms = if is_patient { "60000" } else { "5" };
        place.extend(["--accept-after-ms", accept_after_ms].map(str::to_owned));
        self.place.start_with(&place).await
    }

    async fn set_up(&self) -> Stage {
        let served = self.start(true).await;
        let stage = Stage::set_up(&served.client()).await;
        // Nothing is lost by this one either.
        served.kill().await;
        stage
    }

    fn start_senders(&self, stage: &Stage) -> Vec<tokio::task::JoinHandle<Vec<sender::Sent>>> {
        let mut senders = Vec::new();
        for lane in [Lane::Ordered, Lane::Quick, Lane::Slow] {
            for number in 0..3 {
                let name = format!("{}-{number}", lane.name());
                let endpoint = stage.endpoint(lane).to_owned();
                let (lives, random) = (self.lives.subscribe(), Rng::with_seed(self.options.seed ^ (number + 1)));
                let (client, rolls, sink) = (stage.client.clone(), Arc::default(), stage.sink.clone());
                let sending = Sending { lane, name, endpoint, client, lives, random, rolls, sink };
                senders.push(tokio::spawn(sending.run()));
            }
        }
        senders
    }

    async fn rage(&mut self) {
        while self.kills.all < self.options.kills {
            let is_patient = self.random.bool();
            self.kills.all += 1;
            if self.random.u8(..) < 25 {
                self.kill_during_start().await;
                continue;
            }
            let served = self.start(is_patient).await;
            self.manager.verify(&served.client()).await;
            self.lives.send_replace(Life::Up { is_patient });
            let until_ms = self.random.u64(10..500);
            let client = served.client();
            // Dropping the manager in the middle of a call is what a client that gives up does.
            manage_for(&mut self.manager, &client, until_ms).await;
            self.lives.send_replace(Life::Down);
            served.kill().await;
            if self.options.kills_store && self.random.u8(..) < 25 {
                self.kill_store().await;
            }
            if self.kills.all.is_multiple_of(20) {
                eprintln!("  {} of {} kills", self.kills.all, self.options.kills);
            }
        }
    }

    async fn kill_during_start(&mut self) {
        let mut child = self.place.spawn();
        tokio::time::sleep(Duration::from_millis(self.random.u64(0..400))).await;
        child.kill().await.unwrap();
        self.kills.during_start += 1;
    }

    async fn kill_store(&mut self) {
        let Some(mut keeper) = self.keeper.take() else {
            return;
        };
        let restarted = tokio::task::spawn_blocking(move || {
            keeper.kill_and_restart();
            keeper
        });
        self.keeper = Some(restarted.await.unwrap());
        self.kills.of_store += 1;
    }

    async fn reckon(mut self, stage: Stage, log: Log, started: Instant) -> Report {
        let served = self.start(false).await;
        self.manager.verify(&served.client()).await;
        let mut found = stage.settle(&log).await;
        stage.read_again(&mut found).await;
        let mut violations = std::mem::take(&mut self.manager.violations);
        violations.extend(check::check(&stage, &log, &found, Promise::ByOneHost));
        if !violations.is_empty() {
            stage.tell().await;
            eprintln!("what the last server said:\n{}", served.said());
        }
        served.stop().await;
        let sink = stage.sink.lock();
        Report {
            store: self.options.engine,
            seed: self.options.seed,
            kills: self.kills.all,
            kills_during_start: self.kills.during_start,
            kills_of_store: self.kills.of_store,
            seconds: started.elapsed().as_secs(),
            requests: log.all().count(),
            answered: log.count(|sent| sent.is_answered()),
            unanswered: log.count(|sent| sent.status.is_none()),
            refused: log.count(|sent| sent.status.is_some_and(|status| status != 200)),
            events: found.requests().count(),
            events_of_unanswered: check::events_of_unanswered(&log, &found),
            runs_of_listener: found.listener.len(),
            runs_of_workflow: found.workflow.len(),
            repeated_sends: sink.sent.values().map(|times| times.saturating_sub(1)).sum(),
            ticks: found.ticks.len(),
            deliveries: sink.arrived,
            repeated_deliveries: sink.repeated,
            managed: self.manager.acknowledged,
            violations,
        }
    }
}
