//! Stores when keys were used last: once a minute, and not in the request that uses them.

use store::Lookup;
use tokio_util::sync::CancellationToken;

use crate::key_uses::KeyUse;
use crate::records::{ApiKey, table};
use crate::{Error, Platform};

/// One write per key and minute at most.
const EVERY_MS: u64 = 60_000;

/// Until `shutdown`, and once more then.
pub async fn run_record_uses(platform: Platform, shutdown: CancellationToken) {
    loop {
        let next_ms = platform.clock.now_ms().saturating_add(EVERY_MS);
        // Both are cancel-safe: nothing is taken by waiting.
        let is_over = tokio::select! {
            () = shutdown.cancelled() => true,
            () = platform.clock.sleep_until(next_ms) => false,
        };
        record_uses(&platform).await;
        if is_over {
            return;
        }
    }
}

/// Stores what was noted; what cannot be stored now is noted again.
pub async fn record_uses(platform: &Platform) {
    for (id, noted) in platform.key_uses().take() {
        match record(platform, &id, &noted).await {
            // Another host was faster, or the key was revoked or renamed meanwhile: the next use tells again.
            Ok(()) | Err(Error::Changed) => {}
            Err(error) => {
                tracing::debug!(%error, "the use of a key could not be stored");
                platform.key_uses().note(&noted.tenant, &id, noted.used_at);
            }
        }
    }
}

async fn record(platform: &Platform, id: &str, noted: &KeyUse) -> Result<(), Error> {
    let found = table::find::<ApiKey>(&*platform.store, &noted.tenant, Lookup::Id(id)).await?;
    let Some(mut kept) = found.filter(|kept| kept.record.last_used_at < Some(noted.used_at)) else {
        return Ok(());
    };
    let unchanged = table::unchanged(&kept);
    kept.record.last_used_at = Some(noted.used_at);
    platform.store.commit(platform.batch(&noted.tenant).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(())
}
