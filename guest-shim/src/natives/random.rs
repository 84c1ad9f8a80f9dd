//! The host's randomness for RustCrypto.

use rand_core::{CryptoRng, RngCore};

use crate::wellspring::wall::random;

pub(crate) struct Random;

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&random::bytes(buffer.len() as u32));
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(buffer);
        Ok(())
    }
}

impl CryptoRng for Random {}
