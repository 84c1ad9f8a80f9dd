//! The host's randomness: for the prelude, and for RustCrypto.
//!
//! Every draw is noted, because what is drawn while a component loads stays in its image; see core/randomness.js.

use std::cell::Cell;

use rand_core::{CryptoRng, RngCore};

use crate::wellspring::wall::random;

/// The most the host gives at once.
const MAX_BYTES: usize = 64 << 10;

thread_local! {
    static DREW: Cell<bool> = const { Cell::new(false) };
}

pub(crate) struct Random;

/// As many as asked for.
pub(super) fn bytes(count: usize) -> Vec<u8> {
    note_draw();
    let mut bytes = random::bytes(count.min(MAX_BYTES) as u32);
    while bytes.len() < count {
        bytes.extend(random::bytes((count - bytes.len()).min(MAX_BYTES) as u32));
    }
    bytes
}

/// Something random was drawn.
pub(super) fn note_draw() {
    DREW.set(true);
}

/// Whether something random was drawn since this was last asked.
pub(super) fn take_drew() -> bool {
    DREW.take()
}

// === impl Random ===

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&bytes(buffer.len()));
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(buffer);
        Ok(())
    }
}

impl CryptoRng for Random {}
