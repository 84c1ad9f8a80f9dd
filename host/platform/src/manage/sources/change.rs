//! One change at a time: a claim on a source that ends by itself when its host dies.

use store::Op;

use super::create::change_ms;
use crate::manage::hooks;
use crate::records::{Kept, Phase, Source, shelf};
use crate::{Caller, Error, Noun, Platform};

/// Marks the source as being changed. `Busy` when somebody else is at it.
pub(super) async fn claim(caller: &Caller, platform: &Platform, kept: &Kept<Source>) -> Result<(), Error> {
    let now_ms = platform.clock.now_ms();
    let busy = || Error::Busy { noun: Noun::Source, id: kept.record.id.to_string() };
    if !kept.record.phase.is_settled(now_ms) {
        return Err(busy());
    }
    let until_ms = now_ms.saturating_add(change_ms(platform));
    let claimed = Source { phase: Phase::Changing { until_ms }, ..kept.record.clone() };
    let mut batch = platform.batch(&caller.tenant).require(shelf::unchanged(kept)).then(shelf::put(&claimed)?);
    // No tick comes between the hooks of a change.
    batch.operations.extend(hooks::stop_timers(&kept.record));
    match platform.store.commit(batch).await {
        Err(store::CommitError::Conflict { .. }) => Err(busy()),
        settled => settled.map(drop).map_err(Error::from),
    }
}

/// Ends a change: this is the source now. Its timers run when it is active.
pub(super) async fn settle(
    caller: &Caller,
    platform: &Platform,
    source: &mut Source,
    also: Option<Op>,
) -> Result<(), Error> {
    source.phase = Phase::Settled;
    let mut batch = platform.batch(&caller.tenant).then(shelf::put(source)?);
    batch.operations.extend(also);
    if source.is_active {
        batch.operations.extend(hooks::start_timers(platform, source)?);
    }
    platform.store.commit(batch).await?;
    Ok(())
}

/// The source as it was, after a change that failed.
pub(super) async fn restore(caller: &Caller, platform: &Platform, before: &Source) -> Result<(), Error> {
    settle(caller, platform, &mut before.clone(), None).await
}
