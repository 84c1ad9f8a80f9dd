//! Threads for jobs and ticks, for deploys, and for runs that take long. They give way to those that serve requests: a client
//! waits for an answer, a job for its turn. In one runtime every step of a request would queue behind jobs that are ready.

use std::future::Future;

use platform::watching::watch_as_here;
use sandbox::Elsewhere;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use crate::priority::Priority;
use crate::runtime_of;

pub(super) struct Background {
    handle: Handle,
    /// Until it is dropped.
    runtime: Option<Runtime>,
}

impl Background {
    pub(super) fn start() -> std::io::Result<Self> {
        let runtime = runtime_of("background", Priority::of_background_work())?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Where long runs of requests go on. A thread that they keep busy is noticed as one that polls those requests.
    pub(super) fn elsewhere(&self) -> Elsewhere {
        Elsewhere { runtime: self.handle.clone(), wrap: |moved| Box::pin(watch_as_here(moved)) }
    }

    pub(super) fn spawn<Work>(&self, work: Work) -> JoinHandle<Work::Output>
    where
        Work: Future<Output: Send> + Send + 'static,
    {
        self.handle.spawn(work)
    }
}

/// What still runs is not waited for, which a thread that serves requests may not do.
impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
