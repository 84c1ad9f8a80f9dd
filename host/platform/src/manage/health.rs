//! Readiness: whether the store can be read, and written unless it is only looked at.

use store::{Keeping, Op};

use crate::records::names;
use crate::{Error, Platform};

/// Increments a counter, because a store that can be read and not written, as on a full disk, is not ready. The route is
/// public, so at most one call a second writes.
pub async fn check_store(platform: &Platform) -> Result<(), Error> {
    const KEPT_MS: u64 = 60_000;
    let operator = names::operator();
    let second = platform.clock.now_ms() / 1000;
    let counter = format!("probe/{second}");
    let counted = platform.store.counters(&operator, std::slice::from_ref(&counter)).await?;
    if platform.is_read_only() || counted.iter().any(|count| *count > 0) {
        return Ok(());
    }
    let expires_ms = Some(platform.clock.now_ms().saturating_add(KEPT_MS));
    platform.store.commit(platform.batch(&operator).then(Op::Count { counter, amount: 1, expires_ms })).await?;
    Ok(())
}

/// How each server of the store keeps the data, with its place.
pub async fn keeping(platform: &Platform) -> Result<Vec<(String, Keeping)>, Error> {
    Ok(platform.store.keeping().await?)
}

#[cfg(test)]
mod tests {
    use store::Reads;

    use crate::fake::World;
    use crate::records::names;

    #[tokio::test]
    async fn a_store_is_asked_to_write_once_a_second() {
        let world = World::default();
        let probes = async |second: u64| {
            world.store.counters(&names::operator(), &[format!("probe/{second}")]).await.unwrap()[0]
        };

        for _ in 0..3 {
            super::check_store(&world.platform).await.unwrap();
        }
        let first = world.platform.clock.now_ms() / 1000;
        world.clock.advance(1000);
        super::check_store(&world.platform).await.unwrap();

        assert_eq!((probes(first).await, probes(first + 1).await), (1, 1));
    }
}
