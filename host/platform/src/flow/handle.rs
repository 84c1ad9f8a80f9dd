//! The two ends of the data plane: a handle for what triggers runs, a worker for the rest.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::Arc;

use admission::Turns;
use metrics::Family;
use tokio_util::task::TaskTracker;

use super::admit::{Gate, Sources};
use super::work::Worker;
use crate::Platform;
use crate::ports::Chores;
use crate::rate::{Buckets, Rate};

/// So many sources of a tenant can have all the queued runs that a source may have at once.
const SOURCES_AT_ONCE: usize = 4;

/// What an operator decides about the data plane.
#[derive(Clone, Debug)]
pub struct Config {
    /// A run that ends within this time is its own acceptance; a slower one is accepted first and goes on.
    pub grace_ms: u64,
    /// Processors that serve requests: what is not answered yet is divided among them.
    pub threads: u64,
    pub endpoint_rate: Rate,
    pub tenant_rate: Rate,
    /// Jobs and ticks worked on at once by this host.
    pub work_in_flight: usize,
    pub work_per_tenant: usize,
    pub work_per_destination: usize,
    /// Lease duration of jobs and ticks, renewed while their host lives: what a dead host was working on becomes available
    /// after it.
    pub lease_ms: u64,
    /// How long a shutdown waits for what is running.
    pub drain_ms: u64,
    /// Dead letters kept for each tenant; the oldest go first.
    pub dead_letters_kept: u64,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Handle(pub(crate) Arc<Flow>);

pub struct Flow {
    pub(crate) platform: Platform,
    pub(crate) chores: Arc<dyn Chores>,
    pub(crate) config: Config,
    pub(crate) sources: Sources,
    pub(crate) endpoint_rates: Buckets,
    pub(crate) tenant_rates: Buckets,
    /// Turns of what is worked on in the background: a tenant with a backlog delays no request of another.
    pub(crate) turns: Turns,
    pub(crate) tenant_gate: Arc<Gate>,
    /// By source: its queued runs may all wait for one value of its state, and must not take all that its tenant has.
    pub(crate) source_gate: Arc<Gate>,
    pub(crate) destination_gate: Arc<Gate>,
    /// Runs that outlive the request that began them.
    pub(crate) tasks: TaskTracker,
}

// === impl Flow ===

impl Flow {
    #[expect(clippy::new_ret_no_self, reason = "what is new is its two ends")]
    pub fn new(platform: Platform, chores: Arc<dyn Chores>, config: Config) -> (Handle, Worker) {
        let flow = Arc::new(Self {
            platform,
            chores,
            sources: Sources::default(),
            endpoint_rates: Buckets::new(config.endpoint_rate),
            tenant_rates: Buckets::new(config.tenant_rate),
            turns: Turns::for_threads(),
            tenant_gate: Gate::new(config.work_per_tenant),
            source_gate: Gate::new(config.work_per_tenant / SOURCES_AT_ONCE),
            destination_gate: Gate::new(config.work_per_destination),
            tasks: TaskTracker::new(),
            config,
        });
        (Handle(flow.clone()), Worker(flow))
    }
}

impl Handle {
    /// Requests and jobs that this host works on.
    pub fn in_flight(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// What the data plane can tell of itself besides what the platform does.
    pub fn families(&self) -> Vec<Family> {
        let mut families = self.sources.families();
        let help = "Requests and jobs that this host works on";
        families.push(Family::gauge("wellspring_work_in_flight", help).sample(&[], self.tasks.len() as u64));
        families
    }
}

impl Deref for Handle {
    type Target = Flow;

    fn deref(&self) -> &Flow {
        &self.0
    }
}

// === impl Config ===

impl Default for Config {
    /// For one machine of a few cores.
    fn default() -> Self {
        Self {
            grace_ms: 5,
            threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64,
            endpoint_rate: Rate { per_second: 20_000, burst: 20_000 },
            tenant_rate: Rate { per_second: 50_000, burst: 50_000 },
            work_in_flight: 256,
            work_per_tenant: 64,
            work_per_destination: 8,
            lease_ms: 30_000,
            drain_ms: 10_000,
            dead_letters_kept: 10_000,
        }
    }
}
