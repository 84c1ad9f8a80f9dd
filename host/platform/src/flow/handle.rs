//! The data plane as the rest of the house holds it: a handle for those who bring triggers, a worker that does the rest.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::gate::Gate;
use super::lookup::Sources;
use super::quota::Quota;
use super::rate::{Buckets, Rate};
use super::routes::Routes;
use super::worker::Worker;
use crate::Platform;

/// What an operator decides about the data plane.
#[derive(Clone, Debug)]
pub struct Config {
    /// A run that ends within this time is its own acceptance; a slower one is accepted first and goes on.
    pub grace_ms: u64,
    pub endpoint_rate: Rate,
    pub tenant_rate: Rate,
    /// Jobs and ticks worked on at once by this host.
    pub work_in_flight: usize,
    pub work_per_tenant: usize,
    pub work_per_destination: usize,
    /// How long work is lost when a host dies; renewed while it lives.
    pub lease_ms: u64,
    /// How long a shutdown waits for what is running.
    pub drain_ms: u64,
    /// Dead letters kept for each tenant; the oldest go first.
    pub dead_letters_kept: u64,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Handle(pub(super) Arc<Flow>);

pub struct Flow {
    pub(super) platform: Platform,
    pub(super) config: Config,
    pub(super) routes: Routes,
    pub(super) sources: Sources,
    pub(super) quota: Quota,
    pub(super) endpoint_rates: Buckets,
    pub(super) tenant_rates: Buckets,
    pub(super) tenant_gate: Gate,
    pub(super) destination_gate: Gate,
    /// Work went back into the queue and may be due before what the worker waits for.
    pub(super) handed_back: watch::Sender<()>,
    /// Runs that outlive the request that began them.
    pub(super) tasks: TaskTracker,
}

// === impl Flow ===

impl Flow {
    #[expect(clippy::new_ret_no_self, reason = "what is new is its two ends")]
    pub fn new(platform: Platform, config: Config) -> (Handle, Worker) {
        let flow = Arc::new(Self {
            platform,
            routes: Routes::default(),
            sources: Sources::default(),
            quota: Quota::default(),
            endpoint_rates: Buckets::new(config.endpoint_rate),
            tenant_rates: Buckets::new(config.tenant_rate),
            tenant_gate: Gate::new(config.work_per_tenant),
            destination_gate: Gate::new(config.work_per_destination),
            handed_back: watch::Sender::new(()),
            tasks: TaskTracker::new(),
            config,
        });
        (Handle(flow.clone()), Worker(flow))
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
