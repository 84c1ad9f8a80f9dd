//! The progress of a deploy, for the client that waits: packages that are not cached take seconds.
//!
//! The listener belongs to the task that deploys and is found there, so that nothing between the request and the linker
//! has to hand it on. Without a listener, reports go nowhere.

use std::sync::Arc;

use serde::Serialize;

/// In this order; each stage is reported many times, with growing numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Progress {
    /// Versions are being chosen; so many packages are known.
    Resolving {
        packages: usize,
    },
    /// Packages at hand, of all; `bytes` came over the network.
    Downloading {
        packages: usize,
        of: usize,
        bytes: u64,
    },
    Linking {
        modules: usize,
    },
    /// The modules are about to be evaluated.
    Loading {
        packages: usize,
        modules: usize,
    },
}

/// Must not block: it is called by the task that links.
pub type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

tokio::task_local! {
    static LISTENER: Listener;
}

/// Does `work` and tells `listener` what is reported meanwhile, by its own task.
pub async fn listen<T>(listener: Listener, work: impl Future<Output = T>) -> T {
    LISTENER.scope(listener, work).await
}

pub fn report(progress: Progress) {
    // Most deploys have no listener.
    let _ = LISTENER.try_with(|listener| listener(progress));
}
