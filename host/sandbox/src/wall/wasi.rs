//! The few WASI functions that libc inside the shim refers to.
//!
//! Written by hand instead of taken from `wasmtime-wasi`: these nine are all there is on this side of the wall. No files, no
//! sockets and no environment exist that could be opened by mistake, and a run has no context to build.

use super::abi::{self, Slice};
use super::{Caller, Linker, Stop};

const INTERFACE: &str = "wasi_snapshot_preview1";
const SUCCESS: u32 = 0;
const BAD_FILE: u32 = 8;
const INVALID: u32 = 28;
const STANDARD_ERROR: u32 = 2;
/// The last words of a panicking shim fit into this.
const MAX_LAST_WORDS_BYTES: usize = 4 << 10;

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap(INTERFACE, "clock_time_get", clock_time_get)?;
    linker.func_wrap(INTERFACE, "random_get", random_get)?;
    linker.func_wrap(INTERFACE, "environ_sizes_get", environ_sizes_get)?;
    linker.func_wrap(INTERFACE, "environ_get", |_: u32, _: u32| SUCCESS)?;
    linker.func_wrap(INTERFACE, "fd_write", fd_write)?;
    linker.func_wrap(INTERFACE, "fd_close", |_: u32| BAD_FILE)?;
    linker.func_wrap(INTERFACE, "fd_fdstat_get", |_: u32, _: u32| BAD_FILE)?;
    linker.func_wrap(INTERFACE, "fd_seek", |_: u32, _: u64, _: u32, _: u32| BAD_FILE)?;
    linker.func_wrap(INTERFACE, "proc_exit", |code: u32| -> wasmtime::Result<()> {
        Err(Stop::Aborted(format!("the shim exited with code {code}")).into())
    })?;
    Ok(())
}

fn clock_time_get(mut caller: Caller<'_>, clock: u32, _precision: u64, out: u32) -> wasmtime::Result<u32> {
    let run = caller.data_mut();
    let nanoseconds = match clock {
        0 => (run.now_ms()? * 1e6) as u64,
        1 => (run.elapsed_ms()? * 1e6) as u64,
        _ => return Ok(INVALID),
    };
    let (memory, _) = abi::split(&mut caller)?;
    let words = [nanoseconds as u32, (nanoseconds >> 32) as u32];
    abi::write_words(memory, abi::ReturnArea(out), &words)?;
    Ok(SUCCESS)
}

fn random_get(mut caller: Caller<'_>, pointer: u32, length: u32) -> wasmtime::Result<u32> {
    let (memory, run) = abi::split(&mut caller)?;
    let start = pointer as usize;
    let target = start.checked_add(length as usize).and_then(|end| memory.get_mut(start..end));
    let target = target.ok_or(Stop::BadArgument { function: "random_get", problem: "bytes outside of its memory" })?;
    let services = run.services.clone();
    run.tape.random(target, |target| services.fill_random(target))?;
    Ok(SUCCESS)
}

fn environ_sizes_get(mut caller: Caller<'_>, count: u32, size: u32) -> wasmtime::Result<u32> {
    let (memory, _) = abi::split(&mut caller)?;
    abi::write_words(memory, abi::ReturnArea(count), &[0])?;
    abi::write_words(memory, abi::ReturnArea(size), &[0])?;
    Ok(SUCCESS)
}

/// Keeps what the shim says on standard error: the message of a panic, for the fault that follows.
fn fd_write(mut caller: Caller<'_>, fd: u32, vectors: u32, count: u32, written: u32) -> wasmtime::Result<u32> {
    if fd != STANDARD_ERROR {
        return Ok(BAD_FILE);
    }
    let (memory, run) = abi::split(&mut caller)?;
    let vectors = Slice::new(vectors, count.saturating_mul(8)).bytes(memory, "fd_write")?;
    let mut total = 0u32;
    for vector in vectors.chunks_exact(8) {
        let (Some(pointer), Some(length)) = (word(vector, 0), word(vector, 4)) else { continue };
        let bytes = Slice::new(pointer, length).bytes(memory, "fd_write")?;
        let room = MAX_LAST_WORDS_BYTES.saturating_sub(run.last_words.len());
        run.last_words.push_str(&String::from_utf8_lossy(bytes.get(..room.min(bytes.len())).unwrap_or_default()));
        total = total.saturating_add(length);
    }
    abi::write_words(memory, abi::ReturnArea(written), &[total])?;
    Ok(SUCCESS)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
