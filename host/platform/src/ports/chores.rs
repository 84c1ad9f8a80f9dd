//! Clearing up that the control plane leaves to the queue.

use async_trait::async_trait;
use store::Tenant;

use crate::Error;
use crate::records::Job;

/// Performs the control plane's jobs. A chore may be performed twice, after a crash: every step is idempotent.
#[async_trait]
pub trait Chores: Send + Sync {
    /// One bounded step.
    async fn perform(&self, tenant: &Tenant, job: &Job) -> Result<Progress, Error>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// There is more: perform it again, now.
    More,
}
