//! Ciphers that work on whole blocks, with padding after the last or without.

use aes::cipher::block_padding::{Pkcs7, RawPadding};
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecryptMut, BlockEncryptMut};

use super::{BAD_BLOCK_LENGTH, BAD_DECRYPT, InPlace};
use crate::natives::failure::Outcome;
use crate::natives::machine::Machine;

pub(super) struct Blocks {
    size: usize,
    apply: InPlace,
    is_encrypt: bool,
    is_padded: bool,
    held: Vec<u8>,
}

pub(super) fn encrypting(mut cipher: impl BlockEncryptMut + 'static) -> InPlace {
    Box::new(move |data| in_blocks(data, |block| cipher.encrypt_block_mut(block)))
}

pub(super) fn decrypting(mut cipher: impl BlockDecryptMut + 'static) -> InPlace {
    Box::new(move |data| in_blocks(data, |block| cipher.decrypt_block_mut(block)))
}

fn in_blocks<N: aes::cipher::generic_array::ArrayLength<u8>>(
    data: &mut [u8],
    mut apply: impl FnMut(&mut GenericArray<u8, N>),
) {
    for block in data.chunks_exact_mut(N::to_usize()) {
        apply(GenericArray::from_mut_slice(block));
    }
}

// === impl Blocks ===

impl Blocks {
    pub(super) fn new(size: usize, apply: InPlace, is_encrypt: bool, is_padded: bool) -> Self {
        Self { size, apply, is_encrypt, is_padded, held: Vec::new() }
    }

    /// How many of the bytes at hand have to wait: an incomplete block, and the last one when it may be padding.
    fn waiting(&self) -> usize {
        let rest = self.held.len() % self.size;
        let may_be_last = !self.is_encrypt && self.is_padded && rest == 0 && !self.held.is_empty();
        if may_be_last { self.size } else { rest }
    }
}

impl Machine for Blocks {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>> {
        self.held.extend_from_slice(data);
        let rest = self.held.split_off(self.held.len() - self.waiting());
        let mut ready = std::mem::replace(&mut self.held, rest);
        (self.apply)(&mut ready);
        Ok(ready)
    }

    fn finish(&mut self, _: &[u8]) -> Outcome<Vec<u8>> {
        let mut last = std::mem::take(&mut self.held);
        if !self.is_padded {
            return if last.is_empty() { Ok(last) } else { Err(BAD_BLOCK_LENGTH) };
        }
        if self.is_encrypt {
            let position = last.len();
            last.resize(self.size, 0);
            Pkcs7::raw_pad(&mut last, position);
            (self.apply)(&mut last);
            return Ok(last);
        }
        if last.len() != self.size {
            return Err(BAD_BLOCK_LENGTH);
        }
        (self.apply)(&mut last);
        Pkcs7::raw_unpad(&last).map(<[u8]>::to_vec).map_err(|_| BAD_DECRYPT)
    }
}
