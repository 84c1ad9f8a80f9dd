//! One change at a time: a claim on a source that ends by itself when its host dies.

use store::{Enqueue, Op};

use super::create::change_ms;
use crate::manage::hooks;
use crate::records::{Job, Kept, Phase, Source, table};
use crate::{Caller, Error, Noun, Platform};

/// Marks the source as being changed. `Busy` when another request is changing it.
pub(super) async fn claim(caller: &Caller, platform: &Platform, kept: &Kept<Source>) -> Result<(), Error> {
    let now_ms = platform.clock.now_ms();
    let busy = || Error::Busy { noun: Noun::Source, id: kept.record.id.to_string() };
    if !kept.record.phase.is_settled(now_ms) {
        return Err(busy());
    }
    let mut batch = platform.batch(&caller.tenant).require(table::unchanged(kept));
    batch.operations.extend(mark(platform, &mut kept.record.clone())?);
    // No tick comes between the hooks of a change.
    batch.operations.extend(hooks::stop_timers(&kept.record));
    match platform.store.commit(batch).await {
        Err(store::CommitError::Conflict { .. }) => Err(busy()),
        settled => settled.map(drop).map_err(Error::from),
    }
}

/// The operations that write a source as being changed. Should this host die before the change has ended, a chore ends
/// it: at the next start of an embedded store, or when the change of a host that shares its store must be over.
pub(super) fn mark(platform: &Platform, source: &mut Source) -> Result<[Op; 2], Error> {
    let due_ms = platform.clock.now_ms();
    let until_ms = due_ms.saturating_add(change_ms(platform));
    source.phase = Phase::Changing { until_ms };
    let payload = Job::EndChange { source: source.id.clone(), until_ms }.encode()?;
    let held_until_ms = Some(until_ms);
    Ok([table::put(source)?, Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms })])
}

/// Ends a change: this is the source now. Its timers run when it is active.
pub(super) async fn settle(
    caller: &Caller,
    platform: &Platform,
    source: &mut Source,
    also: Vec<Op>,
) -> Result<(), Error> {
    source.phase = Phase::Settled;
    let mut batch = platform.batch(&caller.tenant).then(table::put(source)?);
    batch.operations.extend(also);
    if source.is_active {
        batch.operations.extend(hooks::start_timers(platform, source)?);
    }
    platform.store.commit(batch).await?;
    Ok(())
}

/// The source as it was, after a change that failed.
pub(super) async fn restore(caller: &Caller, platform: &Platform, before: &Source) -> Result<(), Error> {
    settle(caller, platform, &mut before.clone(), Vec::new()).await
}
