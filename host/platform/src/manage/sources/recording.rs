//! Which runs of a source are recorded, how long records are kept, and what is not shown of them.

use domain::redact::Redaction;
use domain::retention::{RUNS_KEPT_MAXIMUM, RunRetention};
use domain::runs::RecordingMode;
use store::{CommitError, Op};

use super::kept;
use crate::manage::recordings;
use crate::records::{Source, names, table};
use crate::{Caller, Error, Platform};

/// Records that change meanwhile are read again.
const TRIES: usize = 8;

/// What is to change; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    pub recording: Option<RecordingMode>,
    /// 0 keeps none, and deletes those that are kept.
    pub keep_runs: Option<u64>,
    /// 0 is without an end.
    pub keep_runs_for_seconds: Option<u64>,
    /// Forgets what the source said of both: the server's settings are its own again.
    pub default_retention: bool,
    pub redact: Option<Redaction>,
}

/// From the next run on. No hook runs: what the source does is the same.
pub async fn set_recording(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    settings: RunSettings,
) -> Result<Source, Error> {
    let count = settings.keep_runs.map(u32::try_from).transpose().ok().flatten();
    if settings.keep_runs.is_some() && count.is_none_or(|count| count > RUNS_KEPT_MAXIMUM) {
        return Err(Error::expected("keep_runs", "at most 10000"));
    }
    for _ in 0..TRIES {
        let mut kept = kept(caller, platform, id).await?;
        let unchanged = table::unchanged(&kept);
        let source = &mut kept.record;
        source.recording = settings.recording.unwrap_or(source.recording);
        if settings.default_retention {
            source.retention = RunRetention::default();
        }
        source.retention.count = count.or(source.retention.count);
        source.retention.seconds = settings.keep_runs_for_seconds.or(source.retention.seconds);
        source.redaction = settings.redact.clone().unwrap_or_else(|| std::mem::take(&mut source.redaction));
        let batch = platform.batch(&caller.tenant).require(unchanged).then(table::put(source)?);
        match platform.store.commit(batch).await {
            Err(CommitError::Conflict { .. }) => {}
            Ok(_) => {
                if count == Some(0) {
                    forget_runs(caller, platform, id).await?;
                }
                return Ok(kept.record);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Changed)
}

/// All records and recordings.
async fn forget_runs(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    const AT_ONCE: u32 = 1000;
    recordings::delete_of(platform, &caller.tenant, id).await?;
    loop {
        let (emitter, stream) = (id.to_owned(), names::RUNS.to_owned());
        let delete = Op::DeleteEntries { emitter, stream, first: None, last: None, max: AT_ONCE };
        let committed = platform.store.commit(platform.batch(&caller.tenant).then(delete)).await?;
        if committed.removed.first().is_none_or(|removed| *removed < u64::from(AT_ONCE)) {
            return Ok(());
        }
    }
}
