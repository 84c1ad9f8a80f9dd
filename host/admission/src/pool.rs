//! A resource that is taken at once or not at all: places, or bytes of memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Family;

use crate::HashMap;
use crate::load::{Load, Refused};
use crate::{Full, Scope, Share};

/// Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

/// A part of the pool; given back when it is dropped.
pub struct Taken {
    pool: Arc<Inner>,
    tenant: Arc<str>,
    amount: u64,
}

struct Inner {
    what: &'static str,
    share: Share,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    total: u64,
    by_tenant: HashMap<Arc<str>, u64>,
    refused: Refused,
}

// === impl Pool ===

impl Pool {
    pub fn new(what: &'static str, share: Share) -> Self {
        Self { inner: Arc::new(Inner { what, share, used: Mutex::default() }) }
    }

    pub fn take(&self, tenant: &str, amount: u64) -> Result<Taken, Full> {
        let tenant = self.inner.take(tenant, amount)?;
        Ok(Taken { pool: self.inner.clone(), tenant, amount })
    }

    /// How much is taken and how often there was not enough.
    pub fn families(&self) -> Vec<Family> {
        let Inner { what, share, .. } = *self.inner;
        let used = self.inner.lock();
        let load = Load { what, used: used.total, limit: share.total, waiting: None, refused: used.refused };
        drop(used);
        load.families()
    }

    /// How much is taken, by all tenants.
    pub fn used(&self) -> u64 {
        self.inner.lock().total
    }
}

// === impl Taken ===

impl Taken {
    /// Takes more for the same tenant. What was taken before stays when there is no more.
    pub fn grow(&mut self, amount: u64) -> Result<(), Full> {
        self.pool.take(&self.tenant, amount)?;
        self.amount += amount;
        Ok(())
    }

    pub fn amount(&self) -> u64 {
        self.amount
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.pool.give_back(&self.tenant, self.amount);
    }
}

// === impl Inner ===

impl Inner {
    fn take(&self, tenant: &str, amount: u64) -> Result<Arc<str>, Full> {
        let mut used = self.lock();
        let entry = used.by_tenant.get_key_value(tenant).map(|(name, held)| (name.clone(), *held));
        let (name, held) = entry.unwrap_or_else(|| (tenant.into(), 0));
        let (held, total) = (held.saturating_add(amount), used.total.saturating_add(amount));
        let short_of = match (held > self.share.per_tenant, total > self.share.total) {
            (true, _) => Some(Scope::Tenant),
            (false, true) => Some(Scope::Host),
            (false, false) => None,
        };
        if let Some(scope) = short_of {
            used.refused.add(scope);
            return Err(Full { what: self.what, scope });
        }
        used.total = total;
        used.by_tenant.insert(name.clone(), held);
        Ok(name)
    }

    fn give_back(&self, tenant: &Arc<str>, amount: u64) {
        let mut used = self.lock();
        used.total -= amount;
        if let Some(held) = used.by_tenant.get_mut(tenant) {
            *held -= amount;
            if *held == 0 {
                used.by_tenant.remove(tenant);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLACES: &str = "places";

    fn scope(taken: Result<Taken, Full>) -> Option<Scope> {
        taken.err().map(|full| full.scope)
    }

    #[test]
    fn a_tenant_gets_its_share_and_not_one_more() {
        let pool = Pool::new(PLACES, Share::new(10, 4));
        let held = pool.take("greedy", 4).unwrap();

        assert_eq!(scope(pool.take("greedy", 1)), Some(Scope::Tenant));
        assert!(pool.take("modest", 4).is_ok());
        drop(held);
        assert!(pool.take("greedy", 4).is_ok());
    }

    #[test]
    fn all_tenants_together_get_what_there_is_and_not_one_more() {
        let pool = Pool::new(PLACES, Share::new(5, 4));
        let _held = [pool.take("a", 3).unwrap(), pool.take("b", 2).unwrap()];

        assert_eq!(scope(pool.take("c", 1)), Some(Scope::Host));
        assert_eq!(pool.used(), 5);
    }

    #[test]
    fn what_was_taken_grows_within_the_share() {
        let pool = Pool::new(PLACES, Share::new(10, 4));
        let mut held = pool.take("a", 1).unwrap();

        assert_eq!(held.grow(3), Ok(()));
        assert_eq!(held.grow(1), Err(Full { what: PLACES, scope: Scope::Tenant }));
        assert_eq!((held.amount(), pool.used()), (4, 4));
        drop(held);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn what_is_taken_and_what_was_refused_is_shown() {
        let pool = Pool::new(PLACES, Share::new(5, 4));
        let _held = [pool.take("a", 4).unwrap(), pool.take("b", 1).unwrap()];
        let _refused = [pool.take("a", 1).err(), pool.take("b", 1).err(), pool.take("c", 1).err()];

        let families = pool.families();

        let shown = |name: &str| {
            let family = families.iter().find(|family| family.name == name);
            family.unwrap().samples.iter().map(|sample| sample.value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(shown("wellspring_share_used"), [5_u64.into()]);
        assert_eq!(shown("wellspring_share_limit"), [5_u64.into()]);
        assert_eq!(
            shown("wellspring_refusals"),
            [2_u64.into(), 1_u64.into()],
            "by the host, and by the tenant's share"
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_made_up(steps in proptest::collection::vec((0..4_usize, 0..5_u64, any::<bool>()), 0..200)) {
            let pool = Pool::new(PLACES, Share::new(20, 8));
            let mut held: Vec<(usize, Taken)> = Vec::new();
            for (tenant, amount, gives_back) in steps {
                if gives_back {
                    held.pop();
                } else if let Ok(taken) = pool.take(&tenant.to_string(), amount) {
                    held.push((tenant, taken));
                }
                let of = |tenant: usize| held.iter().filter(|(one, _)| *one == tenant).map(|(_, taken)| taken.amount()).sum::<u64>();
                prop_assert!((0..4).all(|tenant| of(tenant) <= 8));
                prop_assert_eq!(pool.used(), (0..4).map(of).sum::<u64>());
                prop_assert!(pool.used() <= 20);
            }
            held.clear();
            prop_assert!(pool.inner.lock().by_tenant.is_empty());
        }
    }
}
