//! The parts everything works with, put together once at the start.

use std::ops::Deref;
use std::sync::Arc;

use domain::ids::EndpointKey;
use domain::limits::Limits;
use domain::users::Quotas;
use store::{Batch, Store, Tenant};

use crate::flow::{Channels, KeyQueues};
use crate::key_uses::KeyUses;
use crate::manage::audit::{AuditLimits, Refusals};
use crate::ports::{Clock, Entropy, Linker, Outbound, Sandbox};
use crate::programs::Programs;
use crate::shares::{Pools, Shares};
use crate::vault::Vault;

/// Cheap to clone.
#[derive(Clone)]
pub struct Platform {
    parts: Arc<Parts>,
    key_queues: Arc<KeyQueues>,
    channels: Arc<Channels>,
    pools: Arc<Pools>,
    key_uses: Arc<KeyUses>,
    refusals: Arc<Refusals>,
}

pub struct Parts {
    pub store: Arc<dyn Store>,
    pub sandbox: Arc<dyn Sandbox>,
    pub linker: Arc<dyn Linker>,
    pub outbound: Arc<dyn Outbound>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub vault: Vault,
    pub programs: Programs,
    pub config: Config,
}

/// What an operator decides.
#[derive(Clone, Debug)]
pub struct Config {
    pub limits: Limits,
    pub shares: Shares,
    /// What clients reach this server at, without a slash at the end: endpoints of sources start with it.
    pub public_url: String,
    /// Of new accounts.
    pub default_quotas: Quotas,
    /// What one account may have of each: bounds what lists, fan-out and clearing up cost.
    pub sources_per_account: usize,
    pub subscriptions_per_account: usize,
    pub webhooks_per_account: usize,
    pub connected_accounts_per_account: usize,
    /// Code of a component, all its files together.
    pub code_bytes: usize,
    pub audit: AuditLimits,
}

// === impl Platform ===

impl Platform {
    pub fn new(parts: Parts) -> Self {
        let pools = Arc::new(Pools::new(&parts.config.shares));
        Self {
            parts: Arc::new(parts),
            key_queues: Arc::default(),
            channels: Arc::default(),
            key_uses: Arc::default(),
            refusals: Arc::default(),
            pools,
        }
    }

    /// What tenants share while they are served.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// What is known of the channels that sources have.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Runs of this host that want the same keys of `db`.
    pub(crate) fn key_queues(&self) -> &Arc<KeyQueues> {
        &self.key_queues
    }

    /// How many refused calls of each account are recorded.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// When API keys were used last, as far as it is not stored yet.
    pub(crate) fn key_uses(&self) -> &KeyUses {
        &self.key_uses
    }
}

impl Deref for Platform {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

// === impl Parts ===

impl Parts {
    /// An empty batch at this moment.
    pub(crate) fn batch(&self, tenant: &Tenant) -> Batch {
        Batch::new(tenant, self.clock.now_ms())
    }

    pub fn endpoint_url(&self, key: &EndpointKey) -> String {
        format!("{}/e/{key}", self.config.public_url)
    }
}

// === impl Config ===

impl Config {
    pub fn new(public_url: &str) -> Self {
        Self {
            limits: Limits::default(),
            shares: Shares::default(),
            public_url: public_url.trim_end_matches('/').to_owned(),
            default_quotas: Quotas::default(),
            sources_per_account: 10_000,
            subscriptions_per_account: 10_000,
            webhooks_per_account: 1000,
            connected_accounts_per_account: 1000,
            code_bytes: 4 << 20,
            audit: AuditLimits::default(),
        }
    }
}
