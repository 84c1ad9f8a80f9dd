//! The resources of this host that tenants share while they are served, and the share of one tenant.
//!
//! Further bounds of what a tenant keeps (sources, events, state) are in [`Config`](crate::Config) and its limits.

use admission::{Bounds, Full, Gate, Pool, Share, Taken};
use metrics::Family;

/// What a request takes of the memory for requests before its body: its connection, its head and its task.
const REQUEST_BYTES: u64 = 16 << 10;

/// What an operator decides.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Requests that are not answered yet, to endpoints and to the API, once their bodies are there.
    pub requests_in_flight: Share,
    /// Memory of requests: bodies that are being read or worked on.
    pub request_bytes: Share,
    /// Components that are being linked and loaded.
    pub deploys: Share,
    pub waiting_deploys: Share,
    /// For one tenant: saved components, also those that came with a source.
    pub components: u64,
    /// For one tenant: data stores.
    pub data_stores: u64,
    /// For one tenant: recipients of e-mail in a day.
    pub emails_per_day: u64,
    /// For one tenant: records, programs among them, events and values of `db`.
    pub stored_bytes: u64,
    /// For one source: earlier versions, and the bytes of their files.
    pub source_versions: u64,
    pub source_version_bytes: u64,
    /// For one tenant: deliveries and runs in the queue, and the bytes of their events.
    pub queued_jobs: u64,
    pub queued_bytes: u64,
}

/// The resources, and what each tenant holds of them.
pub struct Pools {
    requests: Pool,
    request_bytes: Pool,
    deploys: Gate,
    deploy_bounds: Bounds,
}

// === impl Shares ===

impl Default for Shares {
    /// For one machine of a few cores.
    fn default() -> Self {
        Self {
            requests_in_flight: Share::new(1024, 256),
            request_bytes: Share::new(256 << 20, 32 << 20),
            deploys: Share::new(8, 2),
            waiting_deploys: Share::new(1024, 64),
            // Twice the sources: an update saves the new code before the old one goes.
            components: 20_000,
            data_stores: 100,
            emails_per_day: 200,
            stored_bytes: 4 << 30,
            source_versions: 20,
            // Four components of the largest size.
            source_version_bytes: 16 << 20,
            // Twice what one trigger may cause.
            queued_jobs: 200_000,
            queued_bytes: 1 << 30,
        }
    }
}

// === impl Pools ===

impl Pools {
    pub(crate) fn new(shares: &Shares) -> Self {
        let bounds = Bounds { places: shares.deploys, waiting: shares.waiting_deploys };
        Self {
            requests: Pool::new("requests_in_flight", shares.requests_in_flight),
            request_bytes: Pool::new("request_bytes", shares.request_bytes),
            deploys: Gate::new("deploys", bounds),
            deploy_bounds: bounds,
        }
    }

    /// A place among the requests that are not answered yet.
    pub fn request(&self, tenant: &str) -> Result<Taken, Full> {
        self.requests.take(tenant, 1)
    }

    pub(crate) fn requests_in_flight(&self) -> u64 {
        self.requests.used()
    }

    /// The memory of one request, which grows with its body.
    pub fn request_bytes(&self, tenant: &str) -> Result<Taken, Full> {
        self.request_bytes.take(tenant, REQUEST_BYTES)
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        [self.requests.families(), self.request_bytes.families(), self.deploys.families()].concat()
    }

    /// Lets no deploy begin, or lets them go on. Those that wait keep their turns.
    pub(crate) fn hold_deploys(&self, are_held: bool) {
        let Bounds { places, waiting } = self.deploy_bounds;
        self.deploys.set_bounds(Bounds { places: if are_held { Share::new(0, 0) } else { places }, waiting });
    }

    pub(crate) fn deploys(&self) -> &Gate {
        &self.deploys
    }
}
