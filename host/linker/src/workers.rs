//! The threads that read, unpack and plan: as many as there are cores.
//!
//! What is unpacked on one thread is dropped on another, and an allocator with a heap for each thread gets such memory back
//! only when the first allocates again. On the runtime's own blocking threads, of which there are dozens, links would leave
//! megabytes behind on each. These are few, and end soon after the last link, which gives back everything.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::LinkError;

const KEEP_ALIVE: Duration = Duration::from_secs(1);

pub(crate) struct Workers {
    /// Only absent while it is dropped.
    runtime: Option<Runtime>,
}

// === impl Workers ===

impl Workers {
    pub(crate) fn new() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(threads).thread_keep_alive(KEEP_ALIVE).thread_name("link");
        // Without threads of its own it uses those of the runtime that it is called on.
        Self { runtime: builder.build().ok() }
    }

    /// Files, digests and large trees do not belong on the threads that serve requests.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LinkError> {
        let handle = self.runtime.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone());
        handle.spawn_blocking(work).await.map_err(|_| LinkError::Interrupted)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // A runtime that is dropped in the ordinary way waits for its threads, which a task must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};

    use super::Workers;

    #[tokio::test]
    async fn work_is_done_on_as_many_threads_as_there_are_cores() {
        let workers = Workers::new();
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let work = (0..100).map(|_| {
            let threads = threads.clone();
            workers.run(move || threads.lock().unwrap().insert(std::thread::current().id()))
        });

        for done in futures_util::future::join_all(work).await {
            done.unwrap();
        }

        let cores = std::thread::available_parallelism().unwrap().get();
        let threads = threads.lock().unwrap();
        assert!(threads.len() <= cores && !threads.contains(&std::thread::current().id()), "{threads:?}");
    }
}
