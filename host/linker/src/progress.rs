//! Progress reports of a link.

use serde::Serialize;

/// In this order; each stage is reported many times, with growing numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Progress {
    /// Versions are being chosen; `packages` names are known so far.
    Resolving {
        packages: usize,
    },
    /// Packages at hand, of all; `bytes` came over the network (0 when all were cached).
    Downloading {
        packages: usize,
        of: usize,
        bytes: u64,
    },
    Linking {
        modules: usize,
    },
    Done {
        packages: usize,
        modules: usize,
    },
}

/// Called from the task that links; must not block.
pub type ProgressFn<'a> = &'a (dyn Fn(Progress) + Send + Sync);
