//! The scripts, and how one is run: by its hash, with its text when the server does not know it.

use std::sync::LazyLock;

use ::redis::Script;

macro_rules! script {
    ($name:ident, $($file:literal),+) => {
        pub(super) static $name: LazyLock<Source> =
            LazyLock::new(|| Source::new(concat!($(include_str!($file), "\n"),+)));
    };
}

script!(COMMIT, "queue.lua", "commit_check.lua", "commit_apply.lua", "commit.lua");
script!(LEASE_JOBS, "queue.lua", "lease_jobs.lua");
script!(LEASE_TIMERS, "queue.lua", "lease_timers.lua");
script!(EXTEND, "queue.lua", "extend.lua");
script!(RECORDS, "records.lua");
script!(STREAMS, "streams.lua");

pub(super) struct Source {
    pub(super) text: &'static str,
    pub(super) hash: String,
}

impl Source {
    fn new(text: &'static str) -> Self {
        Self { text, hash: Script::new(text).get_hash().to_owned() }
    }
}
