//! Each attack in a short form: `just attack` is the long one. Times are not judged here, machines of tests being what they are.

use std::time::Duration;

use rig::attack::{NAMES, Options, run};

/// What `--memory` of `just attack` is.
const MEMORY_MB: u64 = 512;

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_of_a_tenant_fails_the_requests_of_another_or_takes_the_memory() {
    for name in NAMES {
        let row = run(name, Options { time: Duration::from_millis(1500), part: 4 }).await;

        assert!(row.requests > 0 && row.failures == 0, "{row:?}");
        assert!(row.memory_mb_at_most <= MEMORY_MB, "{row:?}");
    }
}
