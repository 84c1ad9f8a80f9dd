//! `wit/auth.wit`

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker};
use crate::tape::{Kind, read_text, write_text};

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        "wellspring:wall/auth@0.1.0",
        "credentials",
        |caller, (prop, length, area): (u32, u32, u32)| {
            Box::new(credentials(caller, Slice::new(prop, length), ReturnArea(area)))
        },
    )?;
    Ok(())
}

async fn credentials(mut caller: Caller<'_>, prop: Slice, area: ReturnArea) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let (services, prop) = (run.services.clone(), prop.text(memory, "credentials")?.to_owned());
    let found = match run.tape.replayed(Kind::Credentials, prop.as_bytes())? {
        Some(answer) => read_text(&answer),
        None => {
            let found = services.credentials(&prop).await;
            caller.data_mut().tape.record(Kind::Credentials, prop.as_bytes(), &write_text(found.as_deref()));
            found
        }
    };
    abi::return_option(&mut caller, area, found.as_deref().map(str::as_bytes)).await
}
