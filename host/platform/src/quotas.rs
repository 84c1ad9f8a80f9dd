//! Admits runs within a tenant's quotas, which count on all hosts together.
//!
//! Usage is counted in the store, by the commit of each run, whose answer tells the new total: so every host that runs
//! something of a tenant knows what all of them have run. What is not known is what runs at this moment. Each host therefore
//! lets only so much run uncounted that all hosts together are at most a twentieth of what is left beyond it; a run that
//! would be more is counted in the store before it begins. Far from the quota that is never so, and costs nothing.
//!
//! A refusal is never given on what is remembered: the operator may have raised the quota since.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_recursion::async_recursion as boxed;
use domain::users::{Plan, QuotaError, Usage, day_start_ms};
use store::{CommitError, Committed, Lookup, Op, Precondition, Tenant};

use crate::HashMap;
use crate::records::{User, names, table};
use crate::{Error, Noun, Platform};

/// Plans, and what other hosts count, are read again after this.
const FRESH_MS: u64 = 1000;
/// How long a plan is relied on while it cannot be read.
const KNOWN_MS: u64 = 600_000;
/// Tenants held at once; what is dropped is read again.
const TENANTS_HELD: usize = 4096;
/// Counters of a day outlive it by one, for a clock that steps back.
const KEPT_MS: i64 = 2 * 24 * 3600 * 1000;
/// Of what is left of a quota, one part in so many may run uncounted, on all hosts together.
const UNCOUNTED_PART: u64 = 20;
/// A quota that is raised while a run is counted is tried once more.
const COUNT_TRIES: usize = 2;

#[derive(Default)]
pub(crate) struct Quotas {
    held: Held,
}

type Held = Arc<Mutex<HashMap<Tenant, TenantQuota>>>;

#[derive(Clone, Copy)]
struct TenantQuota {
    plan: Plan,
    usage: Usage,
    read_at_ms: u64,
    /// Runs of this host that have not ended, and those of them that their own commit will count.
    running: u64,
    uncounted: u64,
    /// Invocations of a day that were counted for runs which did not come to be.
    spare: (i64, u64),
}

/// Leave to run once, held until the run has ended.
pub(crate) struct Admission {
    pub(crate) plan: Plan,
    /// The invocation was counted before the run.
    pub(crate) was_counted: bool,
    is_used_up: AtomicBool,
    held: Option<(Held, Tenant, i64)>,
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

// === impl Admission ===

impl Admission {
    fn unlimited(plan: Plan) -> Self {
        Self::new(plan, false, None)
    }

    fn new(plan: Plan, was_counted: bool, held: Option<(Held, Tenant, i64)>) -> Self {
        Self { plan, was_counted, is_used_up: AtomicBool::new(false), held }
    }

    /// The run came to be: what was counted for it is used up.
    pub(crate) fn use_up(&self) {
        self.is_used_up.store(true, Ordering::Relaxed);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let Some((held, tenant, day_ms)) = self.held.take() else { return };
        let (was_counted, is_used_up) = (self.was_counted, self.is_used_up.load(Ordering::Relaxed));
        change(&held, &tenant, |quota| {
            quota.running = quota.running.saturating_sub(1);
            match (was_counted, is_used_up) {
                (true, true) => {}
                (true, false) if quota.spare.0 == day_ms => quota.spare.1 += 1,
                (true, false) => quota.spare = (day_ms, 1),
                (false, _) => quota.uncounted = quota.uncounted.saturating_sub(1),
            }
        });
    }
}

fn change(held: &Held, tenant: &Tenant, change: impl FnOnce(&mut TenantQuota)) {
    if let Some(quota) = held.lock().unwrap_or_else(PoisonError::into_inner).get_mut(tenant) {
        change(quota);
    }
}

// === impl TenantQuota ===

impl TenantQuota {
    /// What this host may let run without counting it first.
    fn may_run_uncounted(&self, quota: u64, hosts: u64) -> bool {
        let left = quota.saturating_sub(self.usage.invocations);
        self.uncounted < left / UNCOUNTED_PART / hosts.max(1)
    }

    /// Compute time is known when a run has ended: until then each is taken for an average one, on the other hosts as well.
    fn expected_compute_ms(&self, hosts: u64) -> u64 {
        let average_ms = self.usage.compute_ms / self.usage.invocations.max(1);
        self.usage.compute_ms.saturating_add(average_ms.saturating_mul(self.running).saturating_mul(hosts))
    }
}

// === impl Quotas ===

impl Quotas {
    /// Leave for one more run, when the tenant's quotas allow it.
    pub(crate) async fn admit(&self, platform: &Platform, tenant: &Tenant) -> Result<Admission, Error> {
        let (now_ms, instant_ms) = (platform.clock.now_ms(), platform.clock.instant_ms());
        let known = self.lock().get(tenant).copied();
        let fresh = known.filter(|known| {
            now_ms.saturating_sub(known.read_at_ms) < FRESH_MS && known.usage.check(&known.plan, instant_ms).is_ok()
        });
        let quota = match fresh {
            Some(fresh) => fresh,
            None => self.read_or(platform, tenant, known).await?,
        };
        let admission = self.admit_within(platform, tenant, quota).await;
        let admission = admission.inspect_err(|error| {
            if let Error::Quota(quota) = error {
                platform.numbers.refused(quota.into());
            }
        })?;
        platform.check_room(tenant).await?;
        Ok(admission)
    }

    /// What the counters of a tenant are after a commit: what other hosts counted is in it.
    pub(crate) fn note(&self, tenant: &Tenant, operations: &[(usize, Counter)], committed: &Committed) {
        if operations.is_empty() {
            return;
        }
        let mut held = self.lock();
        let Some(quota) = held.get_mut(tenant) else { return };
        for (index, counter) in operations {
            let total = committed.counters.get(*index).and_then(|total| u64::try_from(*total).ok());
            let Some(total) = total.filter(|_| counter.day_ms() >= quota.usage.day_start_ms) else { continue };
            // Answers may overtake each other.
            let usage = quota.usage.on_day_of(counter.day_ms());
            quota.usage = match counter {
                Counter::Compute(_) => Usage { compute_ms: usage.compute_ms.max(total), ..usage },
                Counter::Invocations(_) => Usage { invocations: usage.invocations.max(total), ..usage },
            };
        }
    }

    async fn read_or(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        known: Option<TenantQuota>,
    ) -> Result<TenantQuota, Error> {
        let now_ms = platform.clock.now_ms();
        match (self.read(platform, tenant).await, known) {
            // Plans are kept with the operator, whose shard may be away while the tenant's is not.
            (Err(Error::Store(error)), Some(known)) if now_ms.saturating_sub(known.read_at_ms) < KNOWN_MS => {
                tracing::debug!(%error, "a quota is judged by what was known of it");
                Ok(known)
            }
            (read, _) => read,
        }
    }

    async fn admit_within(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        mut quota: TenantQuota,
    ) -> Result<Admission, Error> {
        let (instant_ms, hosts) = (platform.clock.instant_ms(), platform.hosts().count());
        let day_ms = day_start_ms(instant_ms);
        for _ in 0..COUNT_TRIES {
            if let Err(error) = quota.usage.check(&quota.plan, instant_ms) {
                let is_counted = matches!(error, QuotaError::Invocations { .. });
                let spare = if is_counted { self.take_spare(tenant, day_ms) } else { None };
                return spare.ok_or(error.into());
            }
            let Plan::Free { quotas } = &quota.plan else { return Ok(Admission::unlimited(quota.plan)) };
            let limit = quotas.daily_invocations;
            let resets_at_ms = quota.usage.on_day_of(instant_ms).resets_at_ms();
            if quota.running > 0 && quota.expected_compute_ms(hosts) >= quotas.daily_compute_ms {
                return Err(QuotaError::ComputeTime { quota_ms: quotas.daily_compute_ms, resets_at_ms }.into());
            }
            if let Some(admission) = self.take(tenant, day_ms, (limit, hosts)) {
                return Ok(admission);
            }
            if let Some(admission) = self.count(platform, tenant, day_ms, limit).await? {
                return Ok(admission);
            }
            quota = self.read(platform, tenant).await?;
            if matches!(&quota.plan, Plan::Free { quotas } if quotas.daily_invocations <= limit) {
                // What is left is being used by runs that have not ended.
                return Err(QuotaError::Invocations { quota: limit, resets_at_ms }.into());
            }
        }
        Err(Error::Contended)
    }

    /// Leave that needs no call: with what was counted for another run, or uncounted.
    fn take(&self, tenant: &Tenant, day_ms: i64, (limit, hosts): (u64, u64)) -> Option<Admission> {
        if let Some(spare) = self.take_spare(tenant, day_ms) {
            return Some(spare);
        }
        let mut held = self.lock();
        let quota = held.get_mut(tenant).filter(|quota| quota.may_run_uncounted(limit, hosts))?;
        (quota.uncounted, quota.running) = (quota.uncounted + 1, quota.running + 1);
        Some(Admission::new(quota.plan, false, Some((self.held.clone(), tenant.clone(), day_ms))))
    }

    fn take_spare(&self, tenant: &Tenant, day_ms: i64) -> Option<Admission> {
        let mut held = self.lock();
        let quota = held.get_mut(tenant).filter(|quota| quota.spare.0 == day_ms && quota.spare.1 > 0)?;
        (quota.spare.1, quota.running) = (quota.spare.1 - 1, quota.running + 1);
        Some(Admission::new(quota.plan, true, Some((self.held.clone(), tenant.clone(), day_ms))))
    }

    /// Counts the invocation in the store, unless that would be more than the quota.
    async fn count(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        day_ms: i64,
        limit: u64,
    ) -> Result<Option<Admission>, Error> {
        let (plan, uncounted) = match self.lock().get(tenant) {
            Some(quota) => (quota.plan, quota.uncounted),
            None => return Ok(None),
        };
        let counter = names::invocations_of_day(day_ms);
        let limit = i64::try_from(limit.saturating_sub(uncounted)).unwrap_or(i64::MAX);
        let below = Precondition::CounterBelow { counter: counter.clone(), limit };
        let expires_ms = u64::try_from(day_ms.saturating_add(KEPT_MS)).ok();
        let count = Op::Count { counter, amount: 1, expires_ms };
        match platform.commit(platform.batch(tenant).require(below).then(count)).await {
            Ok(_) => {
                change(&self.held, tenant, |quota| quota.running += 1);
                Ok(Some(Admission::new(plan, true, Some((self.held.clone(), tenant.clone(), day_ms)))))
            }
            Err(CommitError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[boxed]
    async fn read(&self, platform: &Platform, tenant: &Tenant) -> Result<TenantQuota, Error> {
        let day_start_ms = day_start_ms(platform.clock.instant_ms());
        let counters = [names::compute_of_day(day_start_ms), names::invocations_of_day(day_start_ms)];
        let operator = names::operator();
        let user = table::find::<User>(&*platform.store, &operator, Lookup::Id(tenant.as_str())).await?;
        let user = user.ok_or_else(|| Error::not_found(Noun::User, tenant))?;
        let counted = platform.store.counters(tenant, &counters).await?;
        let total = |index: usize| counted.get(index).and_then(|count| u64::try_from(*count).ok()).unwrap_or(0);
        let mut usage = Usage { day_start_ms, compute_ms: total(0), invocations: total(1) };
        let (plan, read_at_ms) = (user.record.plan, platform.clock.now_ms());
        let mut held = self.lock();
        if held.len() >= TENANTS_HELD {
            held.retain(|_, quota| quota.running > 0 || quota.spare.1 > 0);
        }
        let new = TenantQuota { plan, usage, read_at_ms, running: 0, uncounted: 0, spare: (day_start_ms, 0) };
        let quota = held.entry(tenant.clone()).or_insert(new);
        // A commit that was answered meanwhile knows more.
        if quota.usage.day_start_ms == day_start_ms {
            usage.compute_ms = usage.compute_ms.max(quota.usage.compute_ms);
            usage.invocations = usage.invocations.max(quota.usage.invocations);
        }
        *quota = TenantQuota { plan, usage, read_at_ms, ..*quota };
        Ok(*quota)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, TenantQuota>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counter that a quota is about, of the day that begins then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Compute(i64),
    Invocations(i64),
}

// === impl Counter ===

impl Counter {
    /// Those in a batch, each with its place among the batch's counters.
    pub(crate) fn among(operations: &[Op]) -> Vec<(usize, Self)> {
        let counters = operations.iter().filter_map(|operation| match operation {
            Op::Count { counter, .. } => Some(counter),
            _ => None,
        });
        counters.enumerate().filter_map(|(index, name)| Some((index, Self::named(name)?))).collect()
    }

    fn named(name: &str) -> Option<Self> {
        let (kind, day_ms) = name.split_once('/')?;
        let day_ms = day_ms.parse().ok()?;
        match kind {
            names::COMPUTE => Some(Self::Compute(day_ms)),
            names::INVOCATIONS => Some(Self::Invocations(day_ms)),
            _ => None,
        }
    }

    fn day_ms(self) -> i64 {
        match self {
            Self::Compute(day_ms) | Self::Invocations(day_ms) => day_ms,
        }
    }
}
