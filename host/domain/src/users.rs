//! Accounts: what they may do and how much of it a day.

use serde::{Deserialize, Serialize};

const DAY_MS: i64 = 24 * 3600 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May use the operator's routes; the first account has it.
    Admin,
    Member,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "plan", rename_all = "snake_case")]
pub enum Plan {
    Free {
        quotas: Quotas,
    },
    /// Counted for the billing period, never stopped.
    Paid {
        period_start_ms: i64,
        period_end_ms: i64,
        period_invocations: u64,
    },
}

/// What one day may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotas {
    pub daily_compute_ms: u64,
    pub daily_invocations: u64,
}

/// What one day has cost so far. A day is a UTC day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub day_start_ms: i64,
    pub compute_ms: u64,
    pub invocations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    #[error("the daily quota of {quota_ms} ms of compute time is used up")]
    ComputeTime { quota_ms: u64, resets_at_ms: i64 },
    #[error("the daily quota of {quota} invocations is used up")]
    Invocations { quota: u64, resets_at_ms: i64 },
}

/// 00:00 UTC of the day an instant lies in.
pub fn day_start_ms(now_ms: i64) -> i64 {
    now_ms.saturating_sub(now_ms.rem_euclid(DAY_MS))
}

// === impl Quotas ===

impl Default for Quotas {
    /// Generous, because the machine is the operator's own: one core all day, and ten invocations a second.
    fn default() -> Self {
        Self { daily_compute_ms: 86_400_000, daily_invocations: 1_000_000 }
    }
}

// === impl Usage ===

impl Usage {
    /// The same usage, or none when a new day has begun. A clock that stepped back does not open yesterday again.
    pub fn on_day_of(self, now_ms: i64) -> Self {
        let today_ms = day_start_ms(now_ms);
        if today_ms > self.day_start_ms { Self { day_start_ms: today_ms, ..Self::default() } } else { self }
    }

    #[must_use]
    pub fn add(self, now_ms: i64, compute_ms: u64, invocations: u64) -> Self {
        let today = self.on_day_of(now_ms);
        Self {
            compute_ms: today.compute_ms.saturating_add(compute_ms),
            invocations: today.invocations.saturating_add(invocations),
            ..today
        }
    }

    pub fn resets_at_ms(self) -> i64 {
        self.day_start_ms.saturating_add(DAY_MS)
    }

    /// Whether one more invocation may start. What it will cost is not known before, so the last one may go over.
    pub fn check(self, plan: &Plan, now_ms: i64) -> Result<(), QuotaError> {
        let Plan::Free { quotas } = plan else {
            return Ok(());
        };
        let today = self.on_day_of(now_ms);
        let resets_at_ms = today.resets_at_ms();
        if today.invocations >= quotas.daily_invocations {
            return Err(QuotaError::Invocations { quota: quotas.daily_invocations, resets_at_ms });
        }
        if today.compute_ms >= quotas.daily_compute_ms {
            return Err(QuotaError::ComputeTime { quota_ms: quotas.daily_compute_ms, resets_at_ms });
        }
        Ok(())
    }
}

// === impl QuotaError ===

impl QuotaError {
    /// What programs know it by, wherever it is told: the API, endpoints, `$errors`.
    pub const CODE: &'static str = "quota_exceeded";

    pub fn resets_at_ms(&self) -> i64 {
        match self {
            Self::ComputeTime { resets_at_ms, .. } | Self::Invocations { resets_at_ms, .. } => *resets_at_ms,
        }
    }
}

#[cfg(test)]
mod tests;
