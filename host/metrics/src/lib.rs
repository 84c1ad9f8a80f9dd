//! Numbers that any part of the host keeps, and the form in which `server` reads them at a scrape.
//!
//! Recording is one or two relaxed atomic additions: no lock and no allocation, because it happens in every run and every
//! commit. (The histogram of `prometheus-client` takes a write lock for each observation.) Names and labels are texts of
//! the code, so the number of series is bounded. What a part keeps it describes itself, as [`Family`]s; how they are
//! written is decided by `server` alone.

mod counter;
mod family;
mod histogram;

pub use counter::{CacheUse, Counter, Table};
pub use family::{Family, Kind, Label, Sample, Value, of_caches};
pub use histogram::{Histogram, MICROSECONDS, SECONDS_BOUNDS, WHOLE};
