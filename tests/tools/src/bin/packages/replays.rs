//! Runs of a package that works, recorded and repeated: the same result, log and fuel, without the outside.

use std::sync::Arc;

use anyhow::Result;
use outbound::Outbound;
use sandbox::{Image, Limits, Outcome, Recording, Replay, ReplayMode, Sandbox, Task};
use wellspring::LocalServices;

/// Some hundred packages make a thousand runs.
const RUNS: usize = 8;
/// Above what any of the packages is answered.
const RECORDING_BYTES: usize = 64 << 20;

/// How many recorded runs there were, and what was different the first time something was.
#[derive(Default)]
pub(crate) struct Replays {
    pub(crate) runs: usize,
    pub(crate) difference: Option<String>,
}

pub(crate) async fn check(sandbox: &Sandbox, image: &Image, call: &str, outside: &Outbound) -> Result<Replays> {
    let mut replays = Replays::default();
    for _ in 0..RUNS {
        let recorded = run(sandbox, image, call, outside, None).await?;
        let Some(Recording::Kept(recording)) = recorded.recording.clone() else {
            replays.difference = Some("it was not recorded".to_owned());
            return Ok(replays);
        };
        let replay = Replay { recording, mode: ReplayMode::Exact };
        let replayed = run(sandbox, image, call, outside, Some(&replay)).await?;
        replays.runs += 1;
        if shown(&recorded) != shown(&replayed) {
            replays.difference = Some(format!("recorded {}, replayed {}", shown(&recorded), shown(&replayed)));
            return Ok(replays);
        }
    }
    Ok(replays)
}

async fn run(
    sandbox: &Sandbox,
    image: &Image,
    call: &str,
    outside: &Outbound,
    replay: Option<&Replay>,
) -> Result<Outcome> {
    let limits = Limits { recording_bytes: RECORDING_BYTES, ..Limits::default() };
    let task = Task { tenant: "packages", call, limits, is_urgent: false, replay };
    Ok(sandbox.run(image, task, Arc::new(LocalServices::new(outside.clone()))).await?)
}

fn shown(outcome: &Outcome) -> String {
    let Outcome { returned, logs, writes, fault, usage, .. } = outcome;
    let writes: Vec<_> = writes.iter().map(|write| (&write.key, &write.value)).collect();
    let emits: Vec<_> = outcome.emits.iter().map(|emit| emit.event.get()).collect();
    format!("{:?} {emits:?} {writes:?} {logs:?} {fault:?} {}", returned.as_ref().map(|value| value.get()), usage.fuel)
}
