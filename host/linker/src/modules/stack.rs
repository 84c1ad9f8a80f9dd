//! A thread with a stack deep enough for whatever [`super::nesting`] lets through.

use std::thread;

use tokio::sync::oneshot;

use crate::error::LinkError;

/// Of virtual memory; only what is touched is ever real. Measured: the hungriest construct takes less
/// than 20 KiB a level in a debug build, 5 KiB in a release build, and the nesting limit is 5000.
const STACK_BYTES: usize = 256 << 20;

/// Runs work that recurses. It is not interrupted when the caller goes away: it is bounded by the limits
/// on sources, and asks its own flag between files.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LinkError> {
    let (sender, receiver) = oneshot::channel();
    let spawned = thread::Builder::new().name("linker".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        drop(sender.send(work()));
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "no thread for linking could be started");
        return Err(LinkError::Interrupted);
    }
    receiver.await.map_err(|_| LinkError::Interrupted)
}
