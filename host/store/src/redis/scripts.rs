//! The scripts, and how one is run: by its hash, with its text when the server does not know it.
//!
//! The commit is a function of a library, because making its many small functions anew with every call took longer than
//! what they do. Library and function bear the hash of the text, so hosts of different versions do not disturb each
//! other; the library of an old version is harmless and can be removed with `FUNCTION DELETE`.

use std::sync::LazyLock;

use ::redis::Script;

macro_rules! script {
    ($name:ident, $($file:literal),+) => {
        pub(super) static $name: LazyLock<Source> =
            LazyLock::new(|| Source::new(concat!($(include_str!($file), "\n"),+)));
    };
}

pub(super) static COMMIT: LazyLock<Library> = LazyLock::new(|| {
    Library::new(concat!(
        include_str!("library.lua"),
        include_str!("queue.lua"),
        include_str!("commit_check.lua"),
        include_str!("live.lua"),
        include_str!("commit_apply.lua"),
        include_str!("commit.lua"),
    ))
});
script!(LEASE, "script.lua", "queue.lua", "lease.lua");
script!(HEADS, "script.lua", "queue.lua", "heads.lua");
script!(EXTEND, "script.lua", "queue.lua", "extend.lua");
script!(IMPORT, "script.lua", "queue.lua", "import.lua");
script!(BEAT, "beat.lua");
script!(RECORDS, "records.lua");
script!(STREAMS, "streams.lua");
script!(LOAD, "load.lua");
script!(STORED, "stored.lua");

pub(super) struct Source {
    pub(super) text: &'static str,
    pub(super) hash: String,
}

/// A library of one function, which has its name.
pub(super) struct Library {
    pub(super) text: String,
    pub(super) name: String,
}

impl Source {
    fn new(text: &'static str) -> Self {
        Self { text, hash: Script::new(text).get_hash().to_owned() }
    }
}

impl Library {
    fn new(body: &str) -> Self {
        let name = format!("ws_commit_{}", Script::new(body).get_hash());
        let text = format!("#!lua name={name}\n{body}\nredis.register_function('{name}', commit_group)");
        Self { text, name }
    }
}
