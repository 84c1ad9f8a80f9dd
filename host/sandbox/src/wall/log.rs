//! `wit/log.wit`

use super::abi::{self, Slice};
use super::{Caller, Linker, Stop, within};
use crate::limits::LimitKind;
use crate::outcome::{Level, LogLine};

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap("wellspring:wall/log@0.1.0", "log", log)?;
    Ok(())
}

fn log(mut caller: Caller<'_>, level: u32, message: u32, length: u32) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let level = [Level::Debug, Level::Info, Level::Warn, Level::Error]
        .get(level as usize)
        .copied()
        .ok_or(Stop::BadArgument { function: "log", problem: "an unknown level" })?;
    within(run.logs.len() + 1, run.limits.log_lines, LimitKind::LogLines)?;

    let message = cut(Slice::new(message, length).text(memory, "log")?, run.limits.log_line_bytes);
    within(run.logged_bytes + message.len(), run.limits.log_bytes, LimitKind::LogBytes)?;
    run.logged_bytes += message.len();
    let line = LogLine { at_ms: run.now_ms()? as u64, level, message };
    run.services.observe(&line);
    run.logs.push(line);
    Ok(())
}

/// The line, or its beginning and how much more there was. A long line is a mistake that must not end a run.
fn cut(line: &str, limit_bytes: usize) -> String {
    if line.len() <= limit_bytes {
        return line.to_owned();
    }
    let kept = line.get(..line.floor_char_boundary(limit_bytes)).unwrap_or_default();
    format!("{kept}… ({} bytes more)", line.len() - kept.len())
}
