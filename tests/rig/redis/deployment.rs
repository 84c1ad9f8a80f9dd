//! How Redis is run, and what can happen to it: alone, as a primary with a replica that a Sentinel watches, or as a cluster.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{MISSING, Redis};
use crate::network::redis_home;

/// How long anything of this may take on a machine that is busy with everything else.
const PATIENCE: Duration = Duration::from_secs(90);
const SHARDS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    Alone,
    Sentinel,
    Cluster,
}

pub enum Deployment {
    Alone(Redis),
    Sentinel(Watched),
    Cluster(Vec<Redis>),
}

/// A primary, its replica, and what promotes the one when the other is gone.
pub struct Watched {
    primary: Redis,
    replica: Redis,
    sentinel: Redis,
}

// === impl Deployment ===

impl Deployment {
    pub fn start(arrangement: Arrangement) -> Self {
        match arrangement {
            Arrangement::Alone => Self::Alone(Redis::start()),
            Arrangement::Sentinel => Self::Sentinel(Watched::start()),
            Arrangement::Cluster => Self::Cluster(start_cluster()),
        }
    }

    pub fn address(&self) -> String {
        match self {
            Self::Alone(redis) => redis.url(),
            Self::Sentinel(Watched { sentinel, .. }) => format!("redis+sentinel://{}/main", sentinel.place()),
            Self::Cluster(shards) => {
                format!("redis+cluster://{}", shards.iter().map(Redis::place).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// What is answered must be where a fail-over looks for it.
    pub fn durability(&self) -> &'static str {
        if matches!(self, Self::Sentinel(_)) { "replica" } else { "disk" }
    }

    /// `kill -9` of all that there is, of the primary, or of one shard; returns when everything is there again.
    pub fn strike(&mut self, which: usize, away: Duration) {
        match self {
            Self::Alone(redis) => redis.kill_and_restart(),
            Self::Sentinel(watched) => watched.fail_over(),
            Self::Cluster(shards) => {
                let shard = &mut shards[which % SHARDS];
                shard.kill();
                std::thread::sleep(away);
                shard.restart();
                shards.iter().for_each(wait_for_cluster);
            }
        }
    }
}

// === impl Watched ===

impl Watched {
    fn start() -> Self {
        // What connects to a primary on a bridge may come from another address of it than the one that is listened at.
        let options = ["--repl-diskless-sync-delay", "0", "--replica-announce-ip", redis_home()];
        let primary = Redis::start_with(&options);
        let mut replica = Redis::start_with(&options);
        replica.follow(&primary);
        let sentinel = Redis::sentinel_of(primary.port);
        let watched = Self { primary, replica, sentinel };
        watched.wait_for_replica();
        watched
    }

    /// The replica takes over; the primary comes back as its replica.
    fn fail_over(&mut self) {
        self.primary.kill();
        std::mem::swap(&mut self.primary, &mut self.replica);
        let promoted = self.primary.port.to_string();
        until("a Sentinel promotes the replica", || {
            self.sentinel.ask(&["SENTINEL", "get-master-addr-by-name", "main"]).contains(&promoted)
                && self.primary.ask(&["ROLE"]).starts_with("master")
        });
        self.replica.restart();
        self.replica.follow(&self.primary);
        self.wait_for_replica();
    }

    /// Until it has everything, and the Sentinel would promote it.
    fn wait_for_replica(&self) {
        until("the primary has a replica", || self.primary.ask(&["INFO", "replication"]).contains("state=online"));
        let port = self.replica.port.to_string();
        until("the Sentinel knows the replica", || {
            let known = self.sentinel.ask(&["SENTINEL", "REPLICAS", "main"]);
            let lines: Vec<&str> = known.lines().collect();
            let value = |name: &str| lines.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
            value("port") == Some(&port) && value("flags") == Some("slave") && value("master-link-status") == Some("ok")
        });
    }
}

impl Redis {
    /// As a replica that was told so while it runs; the next start forgets it.
    fn follow(&mut self, primary: &Self) {
        assert_eq!(self.ask(&["REPLICAOF", redis_home(), &primary.port.to_string()]).trim_ascii(), "OK");
    }
}

/// Its shards fail one by one, as an operator would set it up.
fn start_cluster() -> Vec<Redis> {
    let options =
        ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "2000"];
    let start = || {
        let bus = crate::port::lasting_port().to_string();
        Redis::start_with(&[&options[..], &["--cluster-port", &bus]].concat())
    };
    let shards: Vec<Redis> = (0..SHARDS).map(|_| start()).collect();
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]).args(shards.iter().map(Redis::place)).arg("--cluster-yes");
    let created = create.output().expect(MISSING);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
    shards.iter().for_each(wait_for_cluster);
    shards
}

/// Until a shard serves its slots and knows who serves the others.
fn wait_for_cluster(shard: &Redis) {
    until("the cluster is whole", || {
        let info = shard.ask(&["CLUSTER", "INFO"]);
        info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
    });
}

/// Asks now and then, because each question is a process.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
