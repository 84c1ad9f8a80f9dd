//! Checks a tenant's quota before a run, with a short-lived cache.
//!
//! Usage is read from the store once a second and counted along in between: exact on one host, and at most a second
//! behind what other hosts count. A refusal is never given on what is remembered: the operator may have raised the
//! quota since.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::users::{Plan, QuotaError, Usage, day_start_ms};
use store::{Lookup, Op, Tenant};

use crate::HashMap;
use crate::ports;
use crate::records::{User, names, table};
use crate::{Error, Noun, Platform};

const FRESH_MS: u64 = 1000;
/// How long a plan is relied on while it cannot be read.
const KNOWN_MS: u64 = 600_000;
/// Tenants held at once; what is dropped is read again.
const TENANTS_HELD: usize = 4096;
/// Counters of a day outlive it by one, for a clock that steps back.
const KEPT_MS: i64 = 2 * 24 * 3600 * 1000;

#[derive(Default)]
pub(crate) struct Quota {
    held: Mutex<HashMap<Tenant, CachedQuota>>,
}

#[derive(Clone, Copy)]
struct CachedQuota {
    plan: Plan,
    usage: Usage,
    read_at_ms: u64,
}

/// Counts the reports of today's refusals with this code, of which there is to be one.
pub(crate) fn reports_of_today(platform: &Platform, code: &str) -> (String, Op) {
    let day_ms = day_start_ms(platform.clock.instant_ms());
    let counter = names::reported(code, day_ms);
    let expires_ms = u64::try_from(day_ms.saturating_add(KEPT_MS)).ok();
    (counter.clone(), Op::Count { counter, amount: 1, expires_ms })
}

pub(crate) fn resets_at_ms(error: &QuotaError) -> u64 {
    u64::try_from(error.resets_at_ms()).unwrap_or_default()
}

// === impl Quota ===

impl Quota {
    /// The tenant's plan, when it allows one more invocation.
    pub(crate) async fn check(&self, platform: &Platform, tenant: &Tenant) -> Result<Plan, Error> {
        let (now_ms, instant_ms) = (platform.clock.now_ms(), platform.clock.instant_ms());
        let held = self.lock().get(tenant).copied();
        if let Some(held) = held.filter(|held| now_ms.saturating_sub(held.read_at_ms) < FRESH_MS)
            && held.usage.check(&held.plan, instant_ms).is_ok()
        {
            platform.check_room(tenant).await?;
            return Ok(held.plan);
        }
        let read = match (self.read(platform, tenant).await, held) {
            // Plans are kept with the operator, whose shard may be away while the tenant's is not.
            (Err(Error::Store(error)), Some(held)) if now_ms.saturating_sub(held.read_at_ms) < KNOWN_MS => {
                tracing::debug!(%error, "a quota is judged by what was known of it");
                held
            }
            (read, _) => read?,
        };
        let CachedQuota { plan, usage, .. } = read;
        usage.check(&plan, instant_ms).inspect_err(|quota| platform.numbers.refused(quota.into()))?;
        platform.check_room(tenant).await?;
        Ok(plan)
    }

    /// What a run of this host cost.
    pub(crate) fn add(&self, platform: &Platform, tenant: &Tenant, usage: &ports::Usage) {
        if let Some(held) = self.lock().get_mut(tenant) {
            held.usage = held.usage.add(platform.clock.instant_ms(), usage.compute_ms(), 1);
        }
    }

    async fn read(&self, platform: &Platform, tenant: &Tenant) -> Result<CachedQuota, Error> {
        let day_start_ms = day_start_ms(platform.clock.instant_ms());
        let counters = [names::compute_of_day(day_start_ms), names::invocations_of_day(day_start_ms)];
        let operator = names::operator();
        let user = table::find::<User>(&*platform.store, &operator, Lookup::Id(tenant.as_str())).await?;
        let user = user.ok_or_else(|| Error::not_found(Noun::User, tenant))?;
        let counted = platform.store.counters(tenant, &counters).await?;
        let total = |index: usize| counted.get(index).and_then(|count| u64::try_from(*count).ok()).unwrap_or(0);
        let usage = Usage { day_start_ms, compute_ms: total(0), invocations: total(1) };
        let read = CachedQuota { plan: user.record.plan, usage, read_at_ms: platform.clock.now_ms() };
        let mut held = self.lock();
        if held.len() >= TENANTS_HELD {
            held.clear();
        }
        held.insert(tenant.clone(), read);
        Ok(read)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, CachedQuota>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
