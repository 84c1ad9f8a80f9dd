//! A whole platform on stand-ins.

use std::sync::Arc;

use domain::users::{Quotas, Role};
use serde_json::{Value, json};
use store::fake::Memory;

use super::{CountingEntropy, KeptRelays, ManualClock, PlainLinker, ScriptedSandbox, StaticOutbound};
use crate::manage::chores::ChoreRunner;
use crate::manage::first_start::{self, Started};
use crate::manage::keys::authenticate;
use crate::manage::users::{self, NewUser};
use crate::ports::{Chores, Telemetry};
use crate::vault::{KeyRing, Vault};
use crate::{Caller, Config, Parts, Platform, Programs, Secret};

pub struct World {
    pub platform: Platform,
    pub store: Arc<Memory>,
    pub sandbox: Arc<ScriptedSandbox>,
    pub outbound: Arc<StaticOutbound>,
    pub relays: Arc<KeptRelays>,
    pub clock: Arc<ManualClock>,
}

/// The same platform with other encryption keys.
#[cfg(test)]
pub(crate) fn with_keys(platform: &Platform, keys: &str) -> Platform {
    with_vault(platform, Vault::new(KeyRing::parse(keys).unwrap(), platform.entropy.clone()))
}

#[cfg(test)]
pub(crate) fn with_vault(platform: &Platform, vault: Vault) -> Platform {
    Platform::new(Parts {
        store: platform.store.clone(),
        sandbox: platform.sandbox.clone(),
        linker: platform.linker.clone(),
        outbound: platform.outbound.clone(),
        relays: platform.relays.clone(),
        clock: platform.clock.clone(),
        entropy: platform.entropy.clone(),
        telemetry: None,
        vault,
        programs: Programs::default(),
        config: platform.config.clone(),
    })
}

/// The code of a source for [`ScriptedSandbox`]: a description, with `more` laid over it.
pub fn component(name: &str, more: Value) -> String {
    let mut description = json!({"name": name, "version": "0.0.1", "run": {"$fn": true}});
    if let (Some(fields), Value::Object(more)) = (description.as_object_mut(), more) {
        fields.extend(more);
    }
    description.to_string()
}

// === impl World ===

impl Default for World {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

#[expect(clippy::expect_used, reason = "a world that cannot be set up ends its test")]
impl World {
    /// What the data plane leaves to the control plane.
    pub fn chores(&self) -> Arc<dyn Chores> {
        Arc::new(ChoreRunner(self.platform.clone()))
    }

    pub fn new(configure: impl FnOnce(&mut Config)) -> Self {
        Self::make(configure, None)
    }

    /// Whose spans and log lines go there.
    pub fn with_telemetry(telemetry: Arc<dyn Telemetry>) -> Self {
        Self::make(|_| (), Some(telemetry))
    }

    fn make(configure: impl FnOnce(&mut Config), telemetry: Option<Arc<dyn Telemetry>>) -> Self {
        let (store, sandbox, outbound) = (Arc::<Memory>::default(), Arc::default(), Arc::default());
        let relays = Arc::<KeptRelays>::default();
        // A Sunday in 2025, at noon.
        let clock = Arc::new(ManualClock::at(1_750_593_600_000));
        let entropy = Arc::new(CountingEntropy::default());
        let mut config = Config::new("https://wellspring.test");
        configure(&mut config);
        let ring = KeyRing::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").expect("a valid key");
        let platform = Platform::new(Parts {
            store: store.clone(),
            sandbox: Arc::clone(&sandbox) as Arc<_>,
            linker: Arc::new(PlainLinker),
            outbound: Arc::clone(&outbound) as Arc<_>,
            relays: Arc::clone(&relays) as Arc<_>,
            clock: clock.clone(),
            entropy: entropy.clone(),
            telemetry,
            vault: Vault::new(ring, entropy),
            programs: Programs::default(),
            config,
        });
        Self { platform, store, sandbox, outbound, relays, clock }
    }

    /// The first account, which is an admin. Once per world.
    pub async fn admin(&self) -> Caller {
        match first_start::start(&self.platform, None).await.expect("a first start") {
            Started::First(new) => self.caller(&new.key).await,
            Started::Again => unreachable!("a world starts once"),
        }
    }

    /// A further account of its own.
    pub async fn user(&self, admin: &Caller, name: &str) -> Caller {
        let email = format!("{name}@example.com");
        let quotas = Quotas::default();
        let new = NewUser { username: name.to_owned(), email, role: Role::Member, quotas };
        let (_, new) = users::create(admin, &self.platform, new).await.expect("a new user");
        self.caller(&new.key).await
    }

    async fn caller(&self, key: &Secret<String>) -> Caller {
        authenticate(&self.platform, key).await.expect("a known key")
    }
}
