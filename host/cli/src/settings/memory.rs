//! The memory budget of the process: how much it is, and how it is divided among the parts that hold memory.

use std::path::Path;

use admission::Share;

/// Less than this leaves no room to link and load a single component.
pub(crate) const LEAST_BYTES: u64 = 256 << 20;
/// What linking and loading one component takes, of those with large packages.
const DEPLOY_BYTES: u64 = 128 << 20;

/// Where memory goes, and the percentage of the budget that each may have. What is left is for the process itself.
const PARTS: [(&str, u64); 6] =
    [("images", 30), ("programs", 5), ("requests", 10), ("packages", 10), ("deploys", 20), ("runs", 20)];

/// The budget, divided. `docs/operations.md` tells what becomes of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) total: u64,
}

// === impl Budget ===

impl Budget {
    /// What was asked for, or half of what this process can have.
    pub(crate) fn new(asked: Option<u64>) -> Self {
        Self { total: asked.unwrap_or_else(|| of_machine() / 2).max(LEAST_BYTES) }
    }

    pub(crate) fn part(self, name: &str) -> u64 {
        let percent = PARTS.iter().find(|(part, _)| *part == name).map_or(0, |(_, percent)| *percent);
        self.total / 100 * percent
    }

    pub(crate) fn parts(self) -> impl Iterator<Item = (&'static str, u64)> {
        PARTS.into_iter().map(move |(name, _)| (name, self.part(name)))
    }

    /// A share of memory, no larger than a part.
    pub(crate) fn within(self, share: Share, part: &str) -> Share {
        let total = share.total.min(self.part(part)).max(1);
        Share::new(total, share.per_tenant.min(total))
    }

    /// What runs have together, but at least what one may have.
    pub(crate) fn runs(self, share: Share, of_one: u64) -> Share {
        let Share { total, per_tenant } = self.within(share, "runs");
        Share::new(total.max(of_one), per_tenant.max(of_one))
    }

    /// As many deploys at once as their part has memory for, but at least one.
    pub(crate) fn deploys(self, share: Share) -> Share {
        let total = share.total.min(self.part("deploys") / DEPLOY_BYTES).max(1);
        Share::new(total, share.per_tenant.min(total))
    }
}

/// What the machine has, or the control group that this process is in when that is less.
fn of_machine() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let machine = total_of_machine(&read(Path::new("/proc/meminfo"))).unwrap_or(4 << 30);
    let groups = Path::new("/sys/fs/cgroup");
    let own = read(Path::new("/proc/self/cgroup"));
    let own = groups.join(own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default());
    let unified = own.ancestors().take_while(|path| path.starts_with(groups)).map(|path| path.join("memory.max"));
    let limits = unified.chain([groups.join("memory/memory.limit_in_bytes")]);
    limits.filter_map(|path| read(&path).trim().parse().ok()).fold(machine, u64::min)
}

/// `MemTotal:       24682496 kB`
fn total_of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fit_into_the_budget_and_leave_some_for_the_process() {
        let budget = Budget::new(Some(1 << 30));

        let divided: u64 = budget.parts().map(|(_, bytes)| bytes).sum();
        assert!(divided < budget.total && divided > budget.total / 10 * 9, "{divided}");
        assert_eq!(budget.part("images"), (1 << 30) / 100 * 30);
        assert_eq!(budget.part("walks"), 0);
    }

    #[test]
    fn shares_are_no_larger_than_their_part() {
        let (small, large) = (Budget::new(Some(512 << 20)), Budget::new(Some(64 << 30)));
        let bytes = Share::new(256 << 20, 32 << 20);

        assert_eq!(small.within(bytes, "requests"), Share::new((512 << 20) / 100 * 10, 32 << 20));
        assert_eq!(large.within(bytes, "requests"), bytes);
        assert_eq!(small.runs(bytes, 1 << 20), Share::new((512 << 20) / 100 * 20, 32 << 20));
        assert_eq!(small.runs(bytes, 128 << 20), Share::new(128 << 20, 128 << 20), "one can have its limit");
        assert_eq!(small.deploys(Share::new(8, 2)), Share::new(1, 1));
        assert_eq!(large.deploys(Share::new(8, 2)), Share::new(8, 2));
    }

    #[test]
    fn without_a_budget_it_is_half_of_what_the_process_can_have() {
        let budget = Budget::new(None).total;

        assert!(budget >= LEAST_BYTES && budget <= of_machine().max(2 * LEAST_BYTES) / 2 + 1, "{budget}");
        assert_eq!(total_of_machine("MemTotal:       2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
        assert_eq!(total_of_machine("MemFree: 1 kB\n"), None);
    }
}
