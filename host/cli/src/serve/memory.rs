//! Keeps the process within its memory budget: caches shrink first, then deploys wait, and runs are refused last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use metrics::Family;
use platform::Platform;
use tokio_util::sync::CancellationToken;

use crate::allocator;
use crate::settings::Budget;
use crate::wiring::sandboxing::Sandboxing;

/// Often enough that a burst of deploys is seen before it takes what is left.
const PERIOD: Duration = Duration::from_millis(250);
/// As often as the allocator has something to give back: after a second.
const LOOKS_UNTIL_GIVEN_BACK: u32 = 4;

/// What is done about memory. Each step includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Pressure {
    None,
    ShrinkCaches,
    HoldDeploys,
    RefuseRuns,
}

/// Looks at the memory of this process from time to time. Cheap to clone.
#[derive(Clone)]
pub(super) struct MemoryWatch {
    budget: Budget,
    platform: Platform,
    sandbox: Arc<Sandboxing>,
    pressure: Arc<AtomicU8>,
}

// === impl Pressure ===

impl Pressure {
    /// Steps with the percentage of the budget that each begins at.
    const STEPS: [(Self, u64); 3] = [(Self::ShrinkCaches, 80), (Self::HoldDeploys, 90), (Self::RefuseRuns, 100)];
    /// A step that was taken ends this much below where it begins, so that it is not taken and left all the time.
    const SLACK: u64 = 5;

    fn of(used: u64, budget: u64, before: Self) -> Self {
        let is_taken = |(step, percent): &&(Self, u64)| {
            let percent = if *step <= before { percent - Self::SLACK } else { *percent };
            used >= budget / 100 * percent
        };
        Self::STEPS.iter().rev().find(is_taken).map_or(Self::None, |(step, _)| *step)
    }
}

// === impl MemoryWatch ===

impl MemoryWatch {
    pub(super) fn new(budget: Budget, platform: Platform, sandbox: Arc<Sandboxing>) -> Self {
        Self { budget, platform, sandbox, pressure: Arc::default() }
    }

    #[expect(clippy::disallowed_methods, reason = "measures the process in real time")]
    pub(super) async fn run(self, shutdown: CancellationToken) {
        let mut pressure = Pressure::None;
        let mut looks = 0u32;
        // Both are cancel-safe.
        while shutdown.run_until_cancelled(tokio::time::sleep(PERIOD)).await.is_some() {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_UNTIL_GIVEN_BACK) {
                allocator::give_back();
            }
            let Some(used) = self.used_bytes() else { return };
            let now = Pressure::of(used, self.budget.total, pressure);
            self.act(now, pressure, used);
            pressure = now;
        }
        self.act(Pressure::None, pressure, 0);
    }

    fn act(&self, now: Pressure, before: Pressure, used: u64) {
        if now >= Pressure::ShrinkCaches {
            // What is held is used less than what runs; half of it comes back when it is needed.
            self.sandbox.shrink_images(self.budget.part("images") / 2);
        }
        if now == before {
            return;
        }
        let programs = usize::try_from(self.budget.part("programs")).unwrap_or(usize::MAX);
        self.platform.limit_programs(if now >= Pressure::ShrinkCaches { programs / 2 } else { programs });
        let budget = self.budget.total;
        if now > before {
            tracing::warn!(memory.used = used, memory.budget = budget, step = ?now, "memory is short");
        } else {
            tracing::info!(memory.used = used, memory.budget = budget, step = ?now, "there is memory again");
        }
        self.platform.hold_deploys(now >= Pressure::HoldDeploys);
        self.sandbox.refuse_runs(now >= Pressure::RefuseRuns);
        self.pressure.store(now as u8, Ordering::Relaxed);
    }

    /// What counts: the heap and the memories of runs, and images in memory. Mapped files do not, which the system takes
    /// back by itself. None where the system does not tell.
    fn used_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        Some(anonymous_bytes(&status)? + self.sandbox.held_image_bytes())
    }

    pub(super) fn families(&self) -> Vec<Family> {
        let help = "The memory budget, and the parts of it";
        let budget =
            Family::gauge("wellspring_memory_budget_bytes", help).sample(&[("part", "all")], self.budget.total);
        let budget = self.budget.parts().fold(budget, |family, (part, bytes)| family.sample(&[("part", part)], bytes));
        let help = "Memory that counts against the budget: heap, memories of runs, and images";
        let used = Family::gauge("wellspring_memory_used_bytes", help).sample(&[], self.used_bytes().unwrap_or(0));
        let help = "What is done about memory: 1 caches shrink, 2 deploys wait, 3 runs are refused";
        let pressure = u64::from(self.pressure.load(Ordering::Relaxed));
        vec![budget, used, Family::gauge("wellspring_memory_pressure", help).sample(&[], pressure)]
    }
}

/// `RssAnon:     12345 kB`, as the kernel writes it.
fn anonymous_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::Pressure::{HoldDeploys, None, RefuseRuns, ShrinkCaches};
    use super::*;

    #[test]
    fn caches_shrink_before_deploys_wait_and_runs_are_refused_last() {
        let cases = [
            (79, None, None),
            (80, None, ShrinkCaches),
            (90, None, HoldDeploys),
            (99, HoldDeploys, HoldDeploys),
            (100, None, RefuseRuns),
            (250, ShrinkCaches, RefuseRuns),
            // A step ends below where it begins.
            (95, RefuseRuns, RefuseRuns),
            (94, RefuseRuns, HoldDeploys),
            (85, HoldDeploys, HoldDeploys),
            (84, HoldDeploys, ShrinkCaches),
            (75, ShrinkCaches, ShrinkCaches),
            (74, RefuseRuns, None),
        ];
        for (used, before, expected) in cases {
            assert_eq!(Pressure::of(used, 100, before), expected, "{used} after {before:?}");
        }
    }

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(anonymous_bytes("VmRSS:\t 9 kB\nRssAnon:\t    2048 kB\nRssFile:\t3 kB\n"), Some(2 << 20));
        assert_eq!(anonymous_bytes("Threads:\t3\n"), Option::None);
    }
}
