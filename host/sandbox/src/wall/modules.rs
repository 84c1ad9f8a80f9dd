//! `wit/modules.wit`

use std::sync::Arc;

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker, Stop};
use crate::program::Sources;

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        "wellspring:wall/modules@0.1.0",
        "source",
        |caller, (path, length, area): (u32, u32, u32)| {
            Box::new(source(caller, Slice::new(path, length), ReturnArea(area)))
        },
    )?;
    linker.func_wrap_async(
        "wellspring:wall/modules@0.1.0",
        "code",
        |caller, (path, length, area): (u32, u32, u32)| {
            Box::new(code(caller, Slice::new(path, length), ReturnArea(area)))
        },
    )?;
    Ok(())
}

async fn code(mut caller: Caller<'_>, path: Slice, area: ReturnArea) -> wasmtime::Result<()> {
    let (memory, _) = abi::split(&mut caller)?;
    let path = path.text(memory, "modules.code")?.to_owned();
    let text = text_of(&mut caller, &path).await?;
    let (Some(source), Some(mut compiler)) = (text, caller.data_mut().compiler.take()) else {
        return abi::return_option(&mut caller, area, None).await;
    };
    let code = compiler.compile(&path, &source).await;
    caller.data_mut().compiler = Some(compiler);
    abi::return_option(&mut caller, area, code.as_deref()).await
}

async fn source(mut caller: Caller<'_>, path: Slice, area: ReturnArea) -> wasmtime::Result<()> {
    let (memory, _) = abi::split(&mut caller)?;
    let path = path.text(memory, "modules.source")?.to_owned();
    let text = text_of(&mut caller, &path).await?;
    abi::return_option(&mut caller, area, text.as_deref().map(str::as_bytes)).await
}

/// The text of a module. A program that is not in memory is read once, and held until the run ends.
async fn text_of(caller: &mut Caller<'_>, path: &str) -> Result<Option<Arc<str>>, Stop> {
    let Some(sources) = caller.data().program.clone() else { return Ok(None) };
    let Some(program) = sources.read().await? else { return Ok(None) };
    let text = program.modules.get(path).map(|module| module.source.clone());
    caller.data_mut().program = Some(Sources::Whole(program));
    Ok(text)
}
