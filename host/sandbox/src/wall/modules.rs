//! `wit/modules.wit`

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker};

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
    let (memory, run) = abi::split(&mut caller)?;
    let path = path.text(memory, "modules.code")?.to_owned();
    let source = run.program.as_ref().and_then(|program| Some(program.get()?.modules.get(&path)?.source.clone()));
    let (Some(source), Some(mut compiler)) = (source, run.compiler.take()) else {
        return abi::return_option(&mut caller, area, None).await;
    };
    let code = compiler.compile(&path, &source).await;
    caller.data_mut().compiler = Some(compiler);
    abi::return_option(&mut caller, area, code.as_deref()).await
}

async fn source(mut caller: Caller<'_>, path: Slice, area: ReturnArea) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let program = run.program.clone();
    let path = path.text(memory, "modules.source")?;
    let module = program.as_ref().and_then(|program| program.get()?.modules.get(path));
    abi::return_option(&mut caller, area, module.map(|module| module.source.as_bytes())).await
}
