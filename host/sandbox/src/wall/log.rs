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
    within(run.logged_bytes + length as usize, run.limits.log_bytes, LimitKind::LogBytes)?;

    let message = Slice::new(message, length).text(memory, "log")?.to_owned();
    run.logged_bytes += message.len();
    let line = LogLine { at_ms: run.services.now_ms() as u64, level, message };
    run.services.observe(&line);
    run.logs.push(line);
    Ok(())
}
