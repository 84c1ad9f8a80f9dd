//! `wit/effects.wit`

use super::abi::{self, Slice};
use super::{Caller, Linker, Stop, within};
use crate::limits::LimitKind;
use crate::outcome::{Effect, EffectKind};

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap("wellspring:wall/effects@0.1.0", "perform", perform)?;
    Ok(())
}

fn perform(mut caller: Caller<'_>, effect: u32, parameters: u32, length: u32) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let kind = kind(effect).ok_or(Stop::BadArgument { function: "perform", problem: "an unknown effect" })?;
    within(run.effects.len() + 1, run.limits.effects, LimitKind::Effects)?;
    within(length as usize, run.limits.event_bytes, LimitKind::EventBytes)?;
    within(run.emitted_bytes + length as usize, run.limits.emitted_bytes, LimitKind::EmittedBytes)?;

    let parameters = Slice::new(parameters, length).raw_json(memory, "perform")?;
    run.emitted_bytes += length as usize;
    run.effects.push(Effect { kind, parameters });
    Ok(())
}

fn kind(effect: u32) -> Option<EffectKind> {
    use EffectKind::{Exit, Export, Respond, SendEmail, SendEmit, SendHttp, SendS3, SendSse};
    [Export, Respond, Exit, SendHttp, SendEmail, SendS3, SendEmit, SendSse].get(effect as usize).copied()
}
