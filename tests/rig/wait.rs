//! Waiting for what cannot say by itself that it has come, within a bound.

use std::time::Duration;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// What `look` finds, as soon as it finds something. Fails with `what` when that takes too long.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    within(what, looking).await
}

/// The same for something that is told.
pub async fn within<T>(what: &str, coming: impl Future<Output = T>) -> T {
    let come = tokio::time::timeout(PATIENCE, coming).await;
    come.unwrap_or_else(|_| panic!("{what}: not within {} seconds", PATIENCE.as_secs()))
}
