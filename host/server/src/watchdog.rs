//! Notices a worker that does not yield: everything else on its thread waits meanwhile.
//!
//! What is polled is marked (`platform/watching.rs`); a thread of its own looks at the marks. A stall is logged while it
//! lasts, so that one that never ends is seen too, and counted with the route or the kind of work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::watching::{Doing, PATIENCE, stalled};

use crate::metrics::Metrics;

const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Watches for as long as the process lives.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own looks for tasks that block; the runtime may be what is stuck"
)]
pub fn start(metrics: Arc<Metrics>) -> std::io::Result<()> {
    let watching = move || {
        loop {
            std::thread::sleep(LOOK_EVERY);
            for doing in stalled(Instant::now()) {
                note(&metrics, doing);
            }
        }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(watching).map(drop)
}

fn note(metrics: &Metrics, doing: Doing) {
    let (label, name) = match doing {
        Doing::Route(route) => ("route", route),
        Doing::Work(kind) => ("work", kind),
    };
    tracing::warn!(label, name, "a worker has not yielded for {} ms", PATIENCE.as_millis());
    metrics.stalled(label, name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_counted_with_its_route_or_its_kind_of_work() {
        let metrics = Metrics::default();

        for doing in [Doing::Route("/v1/sources"), Doing::Work("delivery"), Doing::Work("delivery")] {
            note(&metrics, doing);
        }

        let text = metrics.render(Vec::new());
        assert!(text.contains("wellspring_stalled_polls_total{by=\"route\",name=\"/v1/sources\"} 1\n"), "{text}");
        assert!(text.contains("wellspring_stalled_polls_total{by=\"work\",name=\"delivery\"} 2\n"), "{text}");
    }
}
