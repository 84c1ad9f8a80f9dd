//! Deleting: `deactivate` runs first, and blocks when it fails unless its errors are to be ignored.

use domain::component::Hook;
use store::{Enqueue, Op};

use super::{change, endpoints, history, kept};
use crate::manage::{code, hooks, subscriptions};
use crate::records::{Job, Source, table};
use crate::{Caller, Error, Platform};

pub async fn delete(caller: &Caller, platform: &Platform, id: &str, ignore_hook_errors: bool) -> Result<(), Error> {
    let before = kept(caller, platform, id).await?;
    change::claim(caller, platform, &before).await?;
    let source = before.record;
    if source.is_active {
        match hooks::run(caller, platform, &source, Hook::Deactivate).await {
            Err(Error::Hook { .. }) if ignore_hook_errors => {}
            Err(error) => {
                change::restore(caller, platform, &source).await?;
                return Err(error);
            }
            Ok(()) => {}
        }
    }
    forget(caller, platform, &source, Vec::new()).await
}

/// Removes a source and everything that points at it. What it emitted and stored is cleared by a chore: at once, and
/// once more when no run of it can be left that writes.
pub(in crate::manage) async fn forget(
    caller: &Caller,
    platform: &Platform,
    source: &Source,
    also: Vec<Op>,
) -> Result<(), Error> {
    let mut batch = platform.batch(&caller.tenant).then(table::delete(source));
    batch.operations.extend(also);
    batch.operations.extend(code::collect_revision(platform, &source.revision)?);
    batch.operations.extend(history::forget(caller, platform, source).await?);
    batch.operations.extend(hooks::stop_timers(source));
    batch.operations.extend(subscriptions::unsubscribe_operations(&caller.tenant, platform, source.id.as_str()).await?);
    let now_ms = batch.now_ms;
    for due_ms in [now_ms, now_ms.saturating_add(super::create::change_ms(platform))] {
        let payload = Job::ForgetSource { source: source.id.clone() }.encode()?;
        batch.operations.push(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }));
    }
    platform.store.commit(batch).await?;
    endpoints::remove(platform, source.endpoint_keys()).await
}
