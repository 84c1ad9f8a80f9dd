//! A thread with a stack deep enough for whatever [`super::nesting`] lets through.

use std::thread;

use tokio::sync::oneshot;

use crate::error::LinkError;

/// Of virtual memory; only what is touched is ever real. The deepest code that passes, of every
/// construct that its test knows, fits into 32 MiB in a debug build; the rest is margin.
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
