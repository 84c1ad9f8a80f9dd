//! Accepting an event for a source without waiting for its run: durable with the batch it is part of, run soon after.

use domain::ids::{EmitId, SourceId};
use serde_json::Value;
use store::{Enqueue, Op};

use super::job::{Acceptance, Work};
use crate::Platform;
use crate::records::{RecordError, shelf};

pub(crate) fn accept_operations(platform: &Platform, source: &SourceId, event: &Value) -> Result<[Op; 2], RecordError> {
    let id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    let payload = Work::Accepted { acceptance: id.clone() }.encode()?;
    let acceptance = Acceptance { id, source: source.clone(), event: event.clone().into() };
    let due_ms = platform.clock.now_ms();
    Ok([
        shelf::put(&acceptance)?,
        Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }),
    ])
}
