//! `wit/db.wit`

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker, Stop, within};
use crate::PART_OF_CALL;
use crate::limits::LimitKind;
use crate::tape::{Kind, read_text, write_text};

const INTERFACE: &str = "wellspring:wall/db@0.1.0";

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap_async(INTERFACE, "get", |caller, (key, length, area): (u32, u32, u32)| {
        Box::new(get(caller, Slice::new(key, length), ReturnArea(area)))
    })?;
    linker.func_wrap(INTERFACE, "set", set)?;
    Ok(())
}

/// A run reads its own writes first; what it has not written is asked of the store.
async fn get(mut caller: Caller<'_>, key: Slice, area: ReturnArea) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let key = key.text(memory, "db.get")?;
    within(key.len(), run.limits.db_key_bytes, LimitKind::DbKeyBytes)?;
    let (services, key) = (run.services.clone(), key.to_owned());
    let value = match run.writes.get(&key) {
        Some(written) => written.clone(),
        None if key.starts_with(PART_OF_CALL) => services.db_get(&key).await.map_err(Stop::Service)?,
        None => match run.tape.replayed(Kind::DbGet, key.as_bytes())? {
            Some(answer) => read_text(&answer),
            None => {
                let found = services.db_get(&key).await.map_err(Stop::Service)?;
                caller.data_mut().tape.record(Kind::DbGet, key.as_bytes(), &write_text(found.as_deref()));
                found
            }
        },
    };
    abi::return_option(&mut caller, area, value.as_deref().map(str::as_bytes)).await
}

fn set(
    mut caller: Caller<'_>,
    key: u32,
    key_len: u32,
    has_value: u32,
    value: u32,
    value_len: u32,
) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let key = Slice::new(key, key_len).text(memory, "db.set")?;
    within(key.len(), run.limits.db_key_bytes, LimitKind::DbKeyBytes)?;
    let value = match has_value {
        0 => None,
        _ => {
            within(value_len as usize, run.limits.db_value_bytes, LimitKind::DbValueBytes)?;
            Some(Slice::new(value, value_len).raw_json(memory, "db.set")?.get().to_owned())
        }
    };
    let size = key.len() + value.as_ref().map_or(0, String::len);
    within(run.written_bytes + size, run.limits.db_written_bytes, LimitKind::DbWrittenBytes)?;
    run.written_bytes += size;
    run.writes.insert(key.to_owned(), value);
    Ok(())
}
