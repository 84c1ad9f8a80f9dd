//! Gives back to the system what the allocator holds for nothing.

// The allocator of the binary, which has the function below.
use mimalloc as _;

#[expect(unsafe_code, reason = "a function of mimalloc that its crate does not have")]
unsafe extern "C" {
    /// Frees pages of the calling thread that are empty, and gives back what was freed a second ago or earlier.
    safe fn mi_collect(force: bool);
}

/// mimalloc keeps what was freed for a second, because it is mostly needed again, and looks whether that is over when something
/// large is allocated or freed. A server that has nothing to do after many deploys would keep hundreds of megabytes for ever.
pub(crate) fn give_back() {
    mi_collect(false);
}
