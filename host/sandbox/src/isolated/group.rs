//! A group of tenants and its worker: started with the sandbox, and again when it is needed after it ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Shared;
use super::connection::Connection;
use crate::sandbox::Error;

/// After the second failure in a row; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

pub(super) struct Group {
    name: String,
    state: Mutex<State>,
    /// Held while a worker is started, so that concurrent runs wait for the same one (single flight).
    starting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failures_in_a_row: u32,
}

// === impl Group ===

impl Group {
    pub(super) fn new(name: String) -> Self {
        Self { name, state: Mutex::default(), starting: tokio::sync::Mutex::default() }
    }

    /// The connection to its worker, if that lives.
    pub(super) fn current(&self) -> Option<Arc<Connection>> {
        self.lock().connection.clone().filter(|connection| !connection.has_ended())
    }

    /// The same, or to a new worker. In a task of its own: a caller that leaves does not leave half a worker behind.
    pub(super) async fn connect(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<Arc<Connection>, Error> {
        let (group, of_task) = (self.clone(), shared.clone());
        let starting = shared.runtime.spawn(async move { group.start(&of_task).await });
        starting.await.map_err(|_| Error::Shim("a worker was not started"))?
    }

    #[expect(clippy::disallowed_methods, reason = "back-off after a worker process failed to start")]
    pub(super) async fn start(&self, shared: &Arc<Shared>) -> Result<Arc<Connection>, Error> {
        let _turn = self.starting.lock().await;
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let wait = self.lock().count_failure();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let connection = shared.start(self.name.clone(), false).await?;
        self.lock().connection = Some(connection.clone());
        shared.end_if_closed(&connection);
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// How long to wait before the next start. A worker that made a run and ended later is the first failure again.
    fn count_failure(&mut self) -> Duration {
        let Some(last) = self.connection.take() else {
            // The first start, or one after a start that failed.
            let is_first = self.failures_in_a_row == 0;
            self.failures_in_a_row += 1;
            return if is_first { Duration::ZERO } else { wait_after(self.failures_in_a_row - 1) };
        };
        self.failures_in_a_row = if last.has_worked() { 1 } else { self.failures_in_a_row + 1 };
        wait_after(self.failures_in_a_row)
    }
}

fn wait_after(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => FIRST_WAIT.saturating_mul(1 << (more - 2).min(16)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::wait_after;

    #[test]
    fn the_first_failure_costs_no_wait_and_later_ones_ever_more_up_to_a_bound() {
        let waits: Vec<u128> = [0, 1, 2, 3, 4, 8, 9, 30].map(|failures| wait_after(failures).as_millis()).into();

        assert_eq!(waits, [0, 0, 50, 100, 200, 3200, 5000, 5000]);
        assert_eq!(wait_after(u32::MAX), Duration::from_secs(5));
    }
}
