//! The limits of a run, as frames carry them.

use std::time::Duration;

use crate::isolated::codec::{Decoder, Encoder, Malformed};
use crate::limits::Limits;

pub(in crate::isolated) fn write_limits(to: &mut Encoder<'_>, limits: &Limits) {
    to.u64(limits.fuel);
    to.u64(u64::try_from(limits.wall_clock.as_nanos()).unwrap_or(u64::MAX));
    let mut limits = *limits;
    for size in sizes(&mut limits) {
        to.size(*size);
    }
}

pub(in crate::isolated) fn read_limits(from: &mut Decoder) -> Result<Limits, Malformed> {
    let (fuel, wall_clock) = (from.u64()?, Duration::from_nanos(from.u64()?));
    let mut limits = Limits { fuel, wall_clock, ..Limits::default() };
    for size in sizes(&mut limits) {
        *size = from.size()?;
    }
    Ok(limits)
}

/// Every limit that is a number of things or bytes. Without `..`, so that a new limit is not forgotten here.
fn sizes(limits: &mut Limits) -> [&mut usize; 18] {
    let Limits {
        fuel: _,
        wall_clock: _,
        memory_bytes,
        emits,
        event_bytes,
        emitted_bytes,
        log_lines,
        log_line_bytes,
        log_bytes,
        db_value_bytes,
        db_key_bytes,
        db_written_bytes,
        reply_bytes,
        reply_headers,
        reply_header_bytes,
        effects,
        requests,
        sent_bytes,
        received_bytes,
        recording_bytes,
    } = limits;
    [
        memory_bytes,
        emits,
        event_bytes,
        emitted_bytes,
        log_lines,
        log_line_bytes,
        log_bytes,
        db_value_bytes,
        db_key_bytes,
        db_written_bytes,
        reply_bytes,
        reply_headers,
        reply_header_bytes,
        effects,
        requests,
        sent_bytes,
        received_bytes,
        recording_bytes,
    ]
}
