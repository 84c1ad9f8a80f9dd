//! The ends of pauses: by a URL that a step was given, or by hand.

use domain::workflow::{PauseKind, Resumed};
use serde_json::Value;
use store::{Op, Tenant};

use super::{WorkflowRunView, end_cancelled, stored};
use crate::invoke::workflow::queue_job;
use crate::records::workflow_run::RunState;
use crate::records::{Kept, WorkflowRun, names, table};
use crate::{Error, Noun, Platform};

/// What the URLs do that a paused step was given: they carry all that is needed, and work once.
pub async fn resume_by_key(platform: &Platform, path: &RunPath<'_>, data: &Value) -> Result<WorkflowRunView, Error> {
    let (tenant, kept) = keyed(platform, path).await?;
    go_on(&tenant, platform, kept, Some(path.key), data).await
}

/// Whether there is such a pause.
pub async fn find_pause(platform: &Platform, path: &RunPath<'_>) -> Result<(), Error> {
    keyed(platform, path).await.map(drop)
}

pub async fn cancel_by_key(platform: &Platform, path: &RunPath<'_>) -> Result<WorkflowRunView, Error> {
    let (tenant, kept) = keyed(platform, path).await?;
    end_cancelled(&tenant, platform, kept).await
}

/// A run, and the key of one of its pauses.
pub struct RunPath<'a> {
    pub tenant: &'a str,
    pub run: &'a str,
    pub key: &'a str,
}

async fn keyed(platform: &Platform, path: &RunPath<'_>) -> Result<(Tenant, Kept<WorkflowRun>), Error> {
    let unknown = || Error::not_found(Noun::Pause, path.key);
    let tenant = domain::ids::UserId::parse(path.tenant).map_err(|_| unknown())?;
    let tenant = names::tenant(&tenant);
    let kept = stored(&tenant, platform, path.run).await?.ok_or_else(unknown)?;
    let version = platform.versions().find(platform, &tenant, &kept.record.workflow, kept.record.version).await?;
    let version = version.ok_or_else(unknown)?;
    let pauses = kept.record.position.pauses(&version.document);
    let is_known = pauses.iter().any(|(_, pause)| {
        // A failed step that is tried again has no URLs.
        pause.kind != PauseKind::Retry && is_equal(pause.key.as_bytes(), path.key.as_bytes())
    });
    if !is_known {
        return Err(unknown());
    }
    Ok((tenant, kept))
}

/// In a time that does not depend on where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

pub(super) async fn go_on(
    tenant: &Tenant,
    platform: &Platform,
    mut kept: Kept<WorkflowRun>,
    key: Option<&str>,
    data: &Value,
) -> Result<WorkflowRunView, Error> {
    let found = platform.versions().find(platform, tenant, &kept.record.workflow, kept.record.version).await?;
    let version = found.ok_or_else(|| Error::not_found(Noun::Version, kept.record.version))?;
    let unchanged = table::unchanged(&kept);
    if kept.record.position.resume(&version.document, key, data) == Resumed::No {
        return Err(Error::NotPaused { run: kept.record.id.to_string() });
    }
    // A run that is at work in another branch finds this when it commits, and goes on from here.
    let is_at_work = kept.record.state != RunState::Paused;
    let state = if is_at_work { kept.record.state } else { RunState::Queued };
    let run = WorkflowRun { state, ..kept.record };
    let timer = names::run_timer(&run.id);
    // Other branches may be paused as well.
    let timer = match run.position.due_ms(&version.document) {
        None => Op::ClearTimer { timer },
        Some(due_ms) => {
            let schedule = crate::records::Tick::Run { run: run.id.clone() }.encode()?;
            Op::SetTimer { timer, due_ms, schedule }
        }
    };
    let mut batch = platform.batch(tenant).require(unchanged).then(table::put(&run)?);
    let job = if is_at_work { None } else { Some(queue_job(platform, &version, &run)?) };
    if let Some(job) = &job {
        batch = batch.then(timer).then(job.operation.clone());
    }
    platform.commit(batch).await?;
    if let Some(job) = job {
        job.keep_place();
    }
    Ok(WorkflowRunView::of(&run, Some(&version)))
}
