//! Tests of the checks of the machine.

use super::{EARLIEST_SECONDS, FILES_WANTED, MEMORY_WANTED_BYTES, available_bytes, clock, files, files_limit, memory};
use crate::doctor::Level;

#[test]
fn the_kernels_figures_are_read() {
    let meminfo = "MemTotal:  100 kB\nMemAvailable:      2048 kB\n";
    let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n";

    assert_eq!(available_bytes(meminfo), Some(2048 * 1024));
    assert_eq!(files_limit(limits), Some(1024));
    assert_eq!((available_bytes(""), files_limit("Max open files   unlimited")), (None, None));
}

#[test]
fn each_warns_below_its_bound_and_not_at_it() {
    assert_eq!(memory(Some(MEMORY_WANTED_BYTES)).level, Level::Ok);
    assert_eq!(memory(Some(MEMORY_WANTED_BYTES - 1)).level, Level::Warn);
    assert_eq!(files(Some(FILES_WANTED)).level, Level::Ok);
    assert_eq!(files(Some(FILES_WANTED - 1)).level, Level::Warn);
    assert_eq!(clock(EARLIEST_SECONDS).level, Level::Ok);
    assert_eq!(clock(EARLIEST_SECONDS - 1).level, Level::Fail);
}
