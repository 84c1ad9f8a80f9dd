//! `wit/random.wit`

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker, Stop};

/// The most one call may ask for, as in the Web platform's `getRandomValues`.
const MAX_BYTES: usize = 64 << 10;

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap_async("wellspring:wall/random@0.1.0", "bytes", |caller, (count, area): (u32, u32)| {
        Box::new(bytes(caller, count as usize, ReturnArea(area)))
    })?;
    Ok(())
}

async fn bytes(mut caller: Caller<'_>, count: usize, area: ReturnArea) -> wasmtime::Result<()> {
    if count > MAX_BYTES {
        return Err(Stop::BadArgument { function: "random.bytes", problem: "a count over 64 KiB" }.into());
    }
    let mut bytes = vec![0; count];
    let run = caller.data_mut();
    let services = &run.services;
    run.tape.random(&mut bytes, |bytes| services.fill_random(bytes))?;
    let Slice { pointer, length } = abi::allocate(&mut caller, &bytes).await?;
    let (memory, _) = abi::split(&mut caller)?;
    Ok(abi::write_words(memory, area, &[pointer, length])?)
}
