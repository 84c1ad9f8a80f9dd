//! `wit/timers.wit`

use std::time::Duration;

use futures_util::StreamExt;

use super::{Caller, Linker, Stop};
use crate::run::Run;

const NOTHING_TO_WAIT_FOR: Stop = Stop::BadArgument { function: "park", problem: "nothing to wait for" };

/// A timer further away than this is beyond every deadline.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        "wellspring:wall/timers@0.1.0",
        "park",
        |caller, (has_timer, milliseconds): (u32, f64)| {
            Box::new(park(caller, (has_timer != 0).then_some(milliseconds)))
        },
    )?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the guest waits; tests pause the runtime")]
async fn park(mut caller: Caller<'_>, milliseconds: Option<f64>) -> wasmtime::Result<()> {
    let run: &mut Run = caller.data_mut();
    // A recording tells what happened next; nothing has to be waited for.
    if run.tape.is_exact() {
        return Ok(());
    }
    if let Some(loose) = run.tape.loose()
        && (loose.has_next() || run.fetches.pending.is_empty())
    {
        if !loose.has_next() {
            loose.wait(milliseconds.ok_or(NOTHING_TO_WAIT_FOR)?);
        }
        return Ok(());
    }
    if !run.fetches.ready.is_empty() {
        return Ok(());
    }
    let wait = milliseconds.map(|ms| Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default().min(MAX_WAIT));
    let event = match (run.fetches.pending.is_empty(), wait) {
        (true, None) => return Err(NOTHING_TO_WAIT_FOR.into()),
        (true, Some(wait)) => {
            tokio::time::sleep(wait).await;
            None
        }
        (false, None) => run.fetches.pending.next().await,
        // Both sides are cancel-safe: a stream of futures keeps what it has not given out.
        (false, Some(wait)) => tokio::time::timeout(wait, run.fetches.pending.next()).await.unwrap_or(None),
    };
    if let Some(event) = event {
        run.fetches.take(event);
    }
    Ok(())
}
