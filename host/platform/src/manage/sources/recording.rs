//! Which runs of a source are recorded.

use domain::runs::RecordingMode;
use store::CommitError;

use super::kept;
use crate::records::{Source, table};
use crate::{Caller, Error, Platform};

/// Records that change meanwhile are read again.
const TRIES: usize = 8;

/// From the next run on. No hook runs: what the source does is the same.
pub async fn set_recording(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    mode: RecordingMode,
) -> Result<Source, Error> {
    for _ in 0..TRIES {
        let mut kept = kept(caller, platform, id).await?;
        let unchanged = table::unchanged(&kept);
        kept.record.recording = mode;
        let batch = platform.batch(&caller.tenant).require(unchanged).then(table::put(&kept.record)?);
        match platform.store.commit(batch).await {
            Err(CommitError::Conflict { .. }) => {}
            settled => return settled.map(|_| kept.record).map_err(Error::from),
        }
    }
    Err(Error::Changed)
}
