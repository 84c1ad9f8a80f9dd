//! What this process takes of the machine. Worker processes of `--isolate process` are not part of it.

use metrics::Family;
use rustix::time::{ClockId, clock_gettime};

pub(super) fn families() -> Vec<Family> {
    let cpu = "CPU time of this process, without that of worker processes";
    let mut families = vec![Family::counter("wellspring_process_cpu_seconds", cpu).sample(&[], cpu_seconds())];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = "Resident memory of this process, without that of worker processes";
    families.extend(
        resident_bytes(&status)
            .map(|bytes| Family::gauge("wellspring_process_resident_memory_bytes", memory).sample(&[], bytes)),
    );
    families
}

#[expect(clippy::cast_precision_loss, reason = "what is shown is a floating point number")]
fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// `VmRSS:     12345 kB`, as the kernel writes it.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(resident_bytes("VmPeak:\t 9 kB\nVmRSS:\t    2048 kB\nThreads:\t3\n"), Some(2 << 20));
        assert_eq!(resident_bytes("Threads:\t3\n"), None);
    }

    #[test]
    fn this_process_has_memory_and_has_used_the_processor() {
        for (family, more_than) in families().iter().zip([0.0, 1e6]) {
            let value = match &family.samples[0].value {
                metrics::Value::Whole(number) => *number as f64,
                metrics::Value::Real(number) => *number,
                other => panic!("{other:?}"),
            };
            assert!(value > more_than, "{family:?}");
        }
    }
}
