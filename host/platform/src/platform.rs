//! The parts everything works with, put together once at the start.

use std::ops::Deref;
use std::sync::Arc;

use domain::addresses::Addresses;
use domain::ids::EndpointKey;
use domain::limits::Limits;
use domain::users;
use store::{Batch, Join, Store, Tenant};

use crate::data_stores::Cleared;
use crate::hosts::Hosts;
use crate::invoke::workflow::{Lanes, Versions};
use crate::invoke::{Channels, Joiner, KeyQueues, Listeners};
use crate::keeping::Keeping;
use crate::key_uses::KeyUses;
use crate::manage::audit::{AuditLimits, Refusals};
use crate::numbers::Numbers;
use crate::ports::{Clock, Entropy, Linker, Outbound, Relays, Sandbox, Telemetry};
use crate::programs::Programs;
use crate::quotas::Quotas;
use crate::shares::{Pools, Shares};
use crate::tokens::Refreshes;
use crate::vault::Vault;

/// Cheap to clone. What it is made of is reached by the use cases of this crate alone: nothing outside can go past them
/// to the store.
#[derive(Clone)]
pub struct Platform(Arc<Core>);

pub struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) linker: Arc<dyn Linker>,
    pub(crate) outbound: Arc<dyn Outbound>,
    pub(crate) relays: Arc<dyn Relays>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) telemetry: Option<Arc<dyn Telemetry>>,
    pub(crate) vault: Vault,
    /// Of recordings.
    pub(crate) joiner: Arc<dyn Join>,
    pub(crate) programs: Programs,
    pub(crate) config: Config,
    pub(crate) numbers: Numbers,
    key_queues: Arc<KeyQueues>,
    channels: Channels,
    listeners: Listeners,
    versions: Versions,
    lanes: Arc<Lanes>,
    pools: Pools,
    key_uses: KeyUses,
    refusals: Refusals,
    keeping: Keeping,
    cleared: Cleared,
    quotas: Quotas,
    refreshes: Refreshes,
    hosts: Hosts,
}

/// What a platform is made from.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub sandbox: Arc<dyn Sandbox>,
    pub linker: Arc<dyn Linker>,
    pub outbound: Arc<dyn Outbound>,
    /// Of the operator, for what tenants send.
    pub relays: Arc<dyn Relays>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Where spans and log lines go, when they are exported.
    pub telemetry: Option<Arc<dyn Telemetry>>,
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
    /// Endpoints are also at `<key>.<domain>`.
    pub wildcard_domain: Option<String>,
    /// Of new accounts.
    pub default_quotas: users::Quotas,
    /// What one account may have of each: bounds what lists, fan-out and clearing up cost.
    pub sources_per_account: usize,
    pub subscriptions_per_account: usize,
    pub webhooks_per_account: usize,
    pub connected_accounts_per_account: usize,
    /// Wishes to connect an account that have not ended.
    pub connects_per_account: usize,
    /// Code of a component, all its files together.
    pub code_bytes: usize,
    pub audit: AuditLimits,
}

// === impl Platform ===

impl Platform {
    pub fn new(parts: Parts) -> Self {
        let Parts { store, sandbox, linker, outbound, relays, clock, entropy, telemetry, vault, programs, config } =
            parts;
        Self(Arc::new(Core {
            pools: Pools::new(&config.shares),
            key_queues: Arc::default(),
            channels: Channels::default(),
            listeners: Listeners::default(),
            versions: Versions::default(),
            lanes: Arc::default(),
            key_uses: KeyUses::default(),
            refusals: Refusals::default(),
            keeping: Keeping::default(),
            cleared: Cleared::default(),
            quotas: Quotas::default(),
            refreshes: Refreshes::default(),
            hosts: Hosts::new(clock.now_ms(), store.sharing()),
            numbers: Numbers::default(),
            joiner: Arc::new(Joiner { vault: vault.clone() }),
            store,
            sandbox,
            linker,
            outbound,
            relays,
            clock,
            entropy,
            telemetry,
            vault,
            programs,
            config,
        }))
    }

    /// Memory is short: lets no deploy begin, or lets them go on.
    pub fn hold_deploys(&self, are_held: bool) {
        self.0.pools.hold_deploys(are_held);
    }

    /// How many bytes of programs are held from now on.
    pub fn limit_programs(&self, most_bytes: usize) {
        self.0.programs.set_limit(most_bytes);
    }

    /// Whether nothing may be changed, because the store is being copied.
    pub fn is_read_only(&self) -> bool {
        self.0.store.is_read_only()
    }

    pub fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    pub fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.0.entropy
    }

    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// What tenants share while they are served.
    pub fn pools(&self) -> &Pools {
        &self.0.pools
    }

    /// What is known of the channels that sources have.
    pub(crate) fn channels(&self) -> &Channels {
        &self.0.channels
    }

    /// The subscriptions of tenants, as far as they are held.
    pub(crate) fn listeners(&self) -> &Listeners {
        &self.0.listeners
    }

    /// Versions of workflows, as far as they are held.
    pub(crate) fn versions(&self) -> &Versions {
        &self.0.versions
    }

    /// Lanes of queued runs of workflows.
    pub(crate) fn lanes(&self) -> &Arc<Lanes> {
        &self.0.lanes
    }

    /// Runs of this host that want the same keys of `db`.
    pub(crate) fn key_queues(&self) -> &Arc<KeyQueues> {
        &self.0.key_queues
    }

    /// How many refused calls of each account are recorded.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    /// What is known of how much tenants keep.
    pub(crate) fn keeping(&self) -> &Keeping {
        &self.0.keeping
    }

    pub(crate) fn cleared(&self) -> &Cleared {
        &self.0.cleared
    }

    /// Quotas of tenants, and what they have used.
    pub(crate) fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    /// Refreshes of tokens under way.
    pub(crate) fn refreshes(&self) -> &Refreshes {
        &self.0.refreshes
    }

    /// Waits for refreshes of tokens: an answer that is not stored would be lost. For the end of a shutdown.
    pub async fn finish_refreshes(&self) {
        self.0.refreshes.finish().await;
    }

    /// The hosts that share the store.
    pub fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }

    /// When API keys were used last, as far as it is not stored yet.
    pub(crate) fn key_uses(&self) -> &KeyUses {
        &self.0.key_uses
    }
}

impl Deref for Platform {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.0
    }
}

// === impl Core ===

impl Core {
    /// An empty batch at this moment.
    pub(crate) fn batch(&self, tenant: &Tenant) -> Batch {
        Batch::new(tenant, self.clock.now_ms())
    }

    /// Where providers send users back to.
    pub fn redirect_uri(&self) -> String {
        format!("{}/oauth/callback", self.config.public_url)
    }

    pub fn endpoint_url(&self, key: &EndpointKey) -> String {
        format!("{}/e/{key}", self.config.public_url)
    }

    /// What is hidden from callers who may see no addresses of endpoints.
    pub fn addresses(&self) -> Addresses<'_> {
        Addresses { domain: self.config.wildcard_domain.as_deref() }
    }
}

// === impl Config ===

impl Config {
    pub fn new(public_url: &str) -> Self {
        Self {
            limits: Limits::default(),
            shares: Shares::default(),
            public_url: public_url.trim_end_matches('/').to_owned(),
            wildcard_domain: None,
            default_quotas: users::Quotas::default(),
            sources_per_account: 10_000,
            subscriptions_per_account: 10_000,
            webhooks_per_account: 1000,
            connected_accounts_per_account: 1000,
            connects_per_account: 20,
            code_bytes: 4 << 20,
            audit: AuditLimits::default(),
        }
    }
}
