//! Symmetric ciphers: AES in its modes, triple DES, and ChaCha20-Poly1305.

mod blocks;
mod sealed;

use aes::cipher::consts::U16;
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyInit, KeyIvInit, StreamCipher};
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, Object, Result};

use self::blocks::Blocks;
use self::sealed::Sealed;
use super::failure::{Bytes, Failure, Outcome, give, slice};
use super::machine::{Handle, Machine, hand_over};

const UNKNOWN_CIPHER: Failure = Failure { code: "ERR_CRYPTO_UNKNOWN_CIPHER", message: "Unknown cipher" };
const BAD_KEY: Failure = Failure { code: "ERR_CRYPTO_INVALID_KEYLEN", message: "Invalid key length" };
const BAD_IV: Failure = Failure { code: "ERR_CRYPTO_INVALID_IV", message: "Invalid initialization vector" };
const BAD_DECRYPT: Failure = Failure { code: "ERR_OSSL_BAD_DECRYPT", message: "bad decrypt" };
const BAD_BLOCK_LENGTH: Failure =
    Failure { code: "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", message: "wrong final block length" };
const UNAUTHENTIC: Failure =
    Failure { code: "ERR_CRYPTO_UNAUTHENTIC", message: "Unsupported state or unable to authenticate data" };
const CANNOT_WRAP: Failure =
    Failure { code: "ERR_CRYPTO_OPERATION_FAILED", message: "The key cannot be wrapped or unwrapped" };

/// Changes bytes in place.
type InPlace = Box<dyn FnMut(&mut [u8])>;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("cipherStart", Func::from(cipher_start))?;
    host.set(
        "aesWrap",
        Func::from(|ctx, is_wrap: bool, key: Bytes<'_>, data: Bytes<'_>| {
            give(ctx, wrap(is_wrap, slice(&key), slice(&data)))
        }),
    )
}

/// A machine for one message. `-nopad` after the name leaves whole blocks as they are.
fn cipher_start<'js>(
    ctx: Ctx<'js>,
    name: String,
    is_encrypt: bool,
    key: Bytes<'js>,
    iv: Bytes<'js>,
    aad: Bytes<'js>,
) -> Result<Class<'js, Handle>> {
    let job = Job { is_encrypt, key: slice(&key), iv: slice(&iv), aad: slice(&aad) };
    hand_over(ctx, start(&name.to_ascii_lowercase(), job))
}

#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) is_encrypt: bool,
    pub(super) key: &'a [u8],
    pub(super) iv: &'a [u8],
    pub(super) aad: &'a [u8],
}

/// Evaluates `$body` with `$aes` standing for AES with a key of that many bits.
macro_rules! with_aes {
    ($bits:expr, $aes:ident => $body:expr) => {
        match $bits {
            "128" => {
                type $aes = aes::Aes128;
                $body
            }
            "192" => {
                type $aes = aes::Aes192;
                $body
            }
            "256" => {
                type $aes = aes::Aes256;
                $body
            }
            _ => Err(UNKNOWN_CIPHER),
        }
    };
}

/// Makes the machine that `name` names.
pub(super) fn start(name: &str, job: Job<'_>) -> Outcome<Box<dyn Machine>> {
    let (name, is_padded) = name.strip_suffix("-nopad").map_or((name, true), |name| (name, false));
    let blocks = |size, apply| -> Outcome<Box<dyn Machine>> {
        Ok(Box::new(Blocks::new(size, apply, job.is_encrypt, is_padded)))
    };
    match name {
        "chacha20-poly1305" => return Ok(Box::new(Sealed::chacha20(job)?)),
        "des-ede3-cbc" => return blocks(8, cbc::<des::TdesEde3>(job)?),
        "des-ede3" | "des-ede3-ecb" => return blocks(8, ecb::<des::TdesEde3>(job)?),
        _ => {}
    }
    let rest = name.strip_prefix("aes-").ok_or(UNKNOWN_CIPHER)?;
    let (bits, mode) = rest.split_once('-').ok_or(UNKNOWN_CIPHER)?;
    match mode {
        "cbc" => blocks(16, with_aes!(bits, Aes => cbc::<Aes>(job))?),
        "ecb" => blocks(16, with_aes!(bits, Aes => ecb::<Aes>(job))?),
        "ctr" => with_aes!(bits, Aes => count::<Aes>(job)),
        "gcm" => with_aes!(bits, Aes => Sealed::gcm::<Aes>(job).map(|sealed| Box::new(sealed) as Box<dyn Machine>)),
        _ => Err(UNKNOWN_CIPHER),
    }
}

/// A cipher that works on blocks of one size.
pub(super) trait Block:
    aes::cipher::BlockCipher + aes::cipher::BlockEncrypt + aes::cipher::BlockDecrypt + KeyInit + 'static
{
}
impl<T> Block for T where
    T: aes::cipher::BlockCipher + aes::cipher::BlockEncrypt + aes::cipher::BlockDecrypt + KeyInit + 'static
{
}

/// A cipher with blocks of 16 bytes, which is what counters and GCM are made for.
pub(super) trait Block128: Block + aes::cipher::BlockCipher<BlockSize = U16> {}
impl<T> Block128 for T where T: Block + aes::cipher::BlockCipher<BlockSize = U16> {}

fn check_lengths<C: KeyInit>(job: &Job<'_>, iv_length: usize) -> Outcome<()> {
    if job.key.len() != C::key_size() {
        return Err(BAD_KEY);
    }
    if job.iv.len() != iv_length { Err(BAD_IV) } else { Ok(()) }
}

fn cbc<C: Block>(job: Job<'_>) -> Outcome<InPlace>
where
    cbc::Encryptor<C>: KeyIvInit + BlockEncryptMut,
    cbc::Decryptor<C>: KeyIvInit + BlockDecryptMut,
{
    check_lengths::<C>(&job, C::block_size())?;
    if job.is_encrypt {
        return Ok(blocks::encrypting(cbc::Encryptor::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?));
    }
    Ok(blocks::decrypting(cbc::Decryptor::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?))
}

fn ecb<C: Block>(job: Job<'_>) -> Outcome<InPlace>
where
    ecb::Encryptor<C>: KeyInit + BlockEncryptMut,
    ecb::Decryptor<C>: KeyInit + BlockDecryptMut,
{
    check_lengths::<C>(&job, 0)?;
    if job.is_encrypt {
        let cipher = <ecb::Encryptor<C> as KeyInit>::new_from_slice(job.key).map_err(|_| BAD_KEY)?;
        return Ok(blocks::encrypting(cipher));
    }
    Ok(blocks::decrypting(<ecb::Decryptor<C> as KeyInit>::new_from_slice(job.key).map_err(|_| BAD_KEY)?))
}

fn count<C: Block128>(job: Job<'_>) -> Outcome<Box<dyn Machine>>
where
    ctr::Ctr128BE<C>: KeyIvInit + StreamCipher,
{
    check_lengths::<C>(&job, 16)?;
    let mut cipher = ctr::Ctr128BE::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?;
    Ok(Box::new(Keystream(Box::new(move |data| cipher.apply_keystream(data)))))
}

/// A stream of bytes that the message is combined with; encrypting and decrypting are the same.
struct Keystream(InPlace);

impl Machine for Keystream {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>> {
        let mut data = data.to_vec();
        (self.0)(&mut data);
        Ok(data)
    }

    fn finish(&mut self, _: &[u8]) -> Outcome<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// AES-KW of RFC 3394.
fn wrap(is_wrap: bool, key: &[u8], data: &[u8]) -> Outcome<Vec<u8>> {
    let bits = (key.len() * 8).to_string();
    with_aes!(bits.as_str(), Aes => {
        let kek = aes_kw::Kek::<Aes>::try_from(key).map_err(|_| BAD_KEY)?;
        let wrapped = if is_wrap { kek.wrap_vec(data) } else { kek.unwrap_vec(data) };
        wrapped.map_err(|_| CANNOT_WRAP)
    })
}

/// Runs a whole message through a cipher.
pub(super) fn whole(name: &str, job: Job<'_>, data: &[u8]) -> Outcome<Vec<u8>> {
    let mut machine = start(name, job)?;
    let mut output = machine.update(data)?;
    output.extend(machine.finish(&[])?);
    Ok(output)
}
