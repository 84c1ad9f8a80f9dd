//! Authenticated encryption, piece by piece: a keystream for the message, and a universal hash over what is encrypted.
//!
//! The crates for whole messages (`aes-gcm`, `chacha20poly1305`) are made of the same parts in the same way.

use aes::cipher::{KeyIvInit, StreamCipher};
use ghash::GHash;
use ghash::universal_hash::{KeyInit, UniversalHash};
use poly1305::Poly1305;
use subtle::ConstantTimeEq;

use super::{BAD_IV, BAD_KEY, Block128, InPlace, Job, UNAUTHENTIC};
use crate::natives::failure::Outcome;
use crate::natives::machine::Machine;

const BLOCK_BYTES: usize = 16;

/// How short a tag may be; OpenSSL draws the same line.
const SHORTEST_TAG_BYTES: usize = 4;

pub(super) struct Sealed {
    keystream: InPlace,
    hash: Option<Hash>,
    /// Combined with the hash to give the tag.
    mask: [u8; BLOCK_BYTES],
    is_encrypt: bool,
    aad_length: u64,
    length: u64,
    /// Encrypted bytes that do not fill a block of the hash yet.
    pending: Vec<u8>,
}

enum Hash {
    Ghash(Box<GHash>),
    Poly(Box<Poly1305>),
}

// === impl Sealed ===

impl Sealed {
    pub(super) fn gcm<C: Block128>(job: Job<'_>) -> Outcome<Self>
    where
        ctr::Ctr32BE<C>: KeyIvInit + StreamCipher,
    {
        if job.iv.is_empty() {
            return Err(BAD_IV);
        }
        let cipher = C::new_from_slice(job.key).map_err(|_| BAD_KEY)?;
        let mut hash_key = aes::cipher::Block::<C>::default();
        cipher.encrypt_block(&mut hash_key);
        let hash = GHash::new(ghash::Key::from_slice(&hash_key));
        let mut stream =
            ctr::Ctr32BE::<C>::new_from_slices(job.key, &first_counter(&hash, job.iv)).map_err(|_| BAD_KEY)?;
        let mut mask = [0; BLOCK_BYTES];
        stream.apply_keystream(&mut mask);
        let keystream: InPlace = Box::new(move |data| stream.apply_keystream(data));
        Ok(Self::new(keystream, Hash::Ghash(Box::new(hash)), mask, job))
    }

    pub(super) fn chacha20(job: Job<'_>) -> Outcome<Self> {
        /// The first block of the keystream makes the key of the hash.
        const FIRST_BLOCK_BYTES: usize = 64;
        if job.key.len() != 32 {
            return Err(BAD_KEY);
        }
        let mut stream = chacha20::ChaCha20::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?;
        let mut first = [0; FIRST_BLOCK_BYTES];
        stream.apply_keystream(&mut first);
        let (hash_key, _) = first.split_at(32);
        let hash = Poly1305::new(poly1305::Key::from_slice(hash_key));
        let keystream: InPlace = Box::new(move |data| stream.apply_keystream(data));
        Ok(Self::new(keystream, Hash::Poly(Box::new(hash)), [0; BLOCK_BYTES], job))
    }

    fn new(keystream: InPlace, mut hash: Hash, mask: [u8; BLOCK_BYTES], job: Job<'_>) -> Self {
        hash.update_padded(job.aad);
        let aad_length = job.aad.len() as u64;
        Self {
            keystream,
            hash: Some(hash),
            mask,
            is_encrypt: job.is_encrypt,
            aad_length,
            length: 0,
            pending: Vec::new(),
        }
    }

    /// Takes encrypted bytes into the hash.
    fn absorb(&mut self, encrypted: &[u8]) {
        self.length += encrypted.len() as u64;
        self.pending.extend_from_slice(encrypted);
        let rest = self.pending.split_off(self.pending.len() / BLOCK_BYTES * BLOCK_BYTES);
        let whole = std::mem::replace(&mut self.pending, rest);
        if let Some(hash) = &mut self.hash {
            hash.update_padded(&whole);
        }
    }

    fn tag(&mut self) -> Outcome<[u8; BLOCK_BYTES]> {
        let mut hash = self.hash.take().ok_or(UNAUTHENTIC)?;
        hash.update_padded(&self.pending);
        let mut tag = hash.finish(self.aad_length, self.length);
        for (byte, mask) in tag.iter_mut().zip(self.mask) {
            *byte ^= mask;
        }
        Ok(tag)
    }
}

impl Machine for Sealed {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>> {
        let mut data = data.to_vec();
        if !self.is_encrypt {
            self.absorb(&data);
        }
        (self.keystream)(&mut data);
        if self.is_encrypt {
            self.absorb(&data);
        }
        Ok(data)
    }

    fn finish(&mut self, tag: &[u8]) -> Outcome<Vec<u8>> {
        let own = self.tag()?;
        if self.is_encrypt {
            return Ok(own.to_vec());
        }
        let claimed = own.get(..tag.len()).filter(|_| tag.len() >= SHORTEST_TAG_BYTES).ok_or(UNAUTHENTIC)?;
        if bool::from(claimed.ct_eq(tag)) { Ok(Vec::new()) } else { Err(UNAUTHENTIC) }
    }
}

/// An IV of twelve bytes is followed by a counter; any other is hashed.
fn first_counter(hash: &GHash, iv: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut counter = [0; BLOCK_BYTES];
    if iv.len() == 12 {
        let (head, tail) = counter.split_at_mut(12);
        head.copy_from_slice(iv);
        tail.copy_from_slice(&1u32.to_be_bytes());
        return counter;
    }
    let mut hash = Hash::Ghash(Box::new(hash.clone()));
    hash.update_padded(iv);
    hash.finish(0, iv.len() as u64)
}

// === impl Hash ===

impl Hash {
    fn update_padded(&mut self, data: &[u8]) {
        match self {
            Self::Ghash(hash) => hash.update_padded(data),
            Self::Poly(hash) => hash.update_padded(data),
        }
    }

    /// The last block tells the lengths: in bits and big-endian for GCM, in bytes and little-endian for Poly1305.
    fn finish(mut self, aad_length: u64, length: u64) -> [u8; BLOCK_BYTES] {
        let lengths = match self {
            Self::Ghash(_) => [(aad_length * 8).to_be_bytes(), (length * 8).to_be_bytes()],
            Self::Poly(_) => [aad_length.to_le_bytes(), length.to_le_bytes()],
        };
        self.update_padded(&lengths.concat());
        match self {
            Self::Ghash(hash) => hash.finalize().into(),
            Self::Poly(hash) => hash.finalize().into(),
        }
    }
}
