//! How much of a resource is used and how often it was refused, for the operator.

use metrics::Family;

use crate::Scope;

/// Counted under the lock that the resource takes anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) by_host: u64,
    pub(crate) by_tenant: u64,
}

pub(crate) struct Load {
    pub(crate) what: &'static str,
    pub(crate) used: u64,
    pub(crate) limit: u64,
    /// Of a resource that can be waited for.
    pub(crate) waiting: Option<u64>,
    pub(crate) refused: Refused,
}

// === impl Refused ===

impl Refused {
    pub(crate) fn add(&mut self, scope: Scope) {
        match scope {
            Scope::Host => self.by_host += 1,
            Scope::Tenant => self.by_tenant += 1,
        }
    }
}

// === impl Load ===

impl Load {
    pub(crate) fn families(&self) -> Vec<Family> {
        let share = [("share", self.what)];
        let mut families = vec![
            Family::gauge("wellspring_share_used", "What is taken of what tenants share").sample(&share, self.used),
            Family::gauge("wellspring_share_limit", "What there is of what tenants share").sample(&share, self.limit),
            Family::counter("wellspring_refusals", "What was refused because a bound was reached, by its name")
                .sample(&[("kind", self.what), ("scope", "host")], self.refused.by_host)
                .sample(&[("kind", self.what), ("scope", "tenant")], self.refused.by_tenant),
        ];
        if let Some(waiting) = self.waiting {
            let help = "What waits for its turn at what tenants share";
            families.push(Family::gauge("wellspring_share_waiting", help).sample(&share, waiting));
        }
        families
    }
}
