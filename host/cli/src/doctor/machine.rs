//! The machine: cores, memory, files, the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Finding;

/// Each connection is a file, and so is each open image.
const FILES_WANTED: u64 = 4096;
/// The server itself, and a few sandboxes at work.
const MEMORY_WANTED_BYTES: u64 = 512 << 20;
/// This program is from after 2025-01-01; a clock before it is not set.
const EARLIEST_SECONDS: u64 = 1_735_689_600;

#[expect(clippy::disallowed_methods, reason = "measures the machine")]
pub(super) fn check() -> Vec<Finding> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    vec![
        version(),
        memory(available_bytes(&read("/proc/meminfo"))),
        files(files_limit(&read("/proc/self/limits"))),
        clock(seconds),
    ]
}

fn version() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (version, system, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    Finding::ok("wellspring", format!("{version} on {system}/{machine} with {cores} cores"))
}

fn memory(available_bytes: Option<u64>) -> Finding {
    let Some(bytes) = available_bytes else {
        return Finding::warn("memory", "how much there is cannot be read", "see that 512 MiB are free");
    };
    let says = format!("{} MiB available", bytes >> 20);
    if bytes < MEMORY_WANTED_BYTES {
        return Finding::warn("memory", says, "free some, or lower --memory-bytes: each run may use that much");
    }
    Finding::ok("memory", says)
}

fn files(limit: Option<u64>) -> Finding {
    match limit {
        Some(limit) if limit < FILES_WANTED => Finding::warn(
            "open files",
            format!("{limit} at most"),
            format!("every connection is one: ulimit -n {FILES_WANTED}, or LimitNOFILE of its unit"),
        ),
        Some(limit) => Finding::ok("open files", format!("{limit} at most")),
        None => Finding::ok("open files", "without a limit that can be read"),
    }
}

fn clock(seconds: u64) -> Finding {
    if seconds < EARLIEST_SECONDS {
        let advice = "set the clock: timers, signatures and event ids depend on it";
        return Finding::fail("clock", format!("{seconds} seconds after 1970 cannot be now"), advice);
    }
    Finding::ok("clock", remote::output::full_time(i64::try_from(seconds).unwrap_or_default()))
}

/// Of `/proc/meminfo`, which counts in kB.
fn available_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit in `/proc/self/limits`.
fn files_limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
