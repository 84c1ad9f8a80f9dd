//! Symmetric ciphers: AES in its modes, and ChaCha20-Poly1305.

use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyInit, KeyIvInit, StreamCipher};
use aes_gcm::aead::{Aead, AeadInPlace, Nonce, Payload};
use aes_gcm::aes::cipher::consts::{U12, U16};
use rquickjs::prelude::{Func, Rest};
use rquickjs::{Ctx, Object, Result};

use super::failure::{Bytes, Failure, Outcome, give, slice};

const UNKNOWN_CIPHER: Failure = Failure { code: "ERR_CRYPTO_UNKNOWN_CIPHER", message: "Unknown cipher" };
const BAD_KEY: Failure = Failure { code: "ERR_CRYPTO_INVALID_KEYLEN", message: "Invalid key length" };
const BAD_IV: Failure = Failure { code: "ERR_CRYPTO_INVALID_IV", message: "Invalid initialization vector" };
const BAD_DECRYPT: Failure = Failure { code: "ERR_OSSL_BAD_DECRYPT", message: "bad decrypt" };
const BAD_BLOCK_LENGTH: Failure =
    Failure { code: "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", message: "wrong final block length" };
const UNAUTHENTIC: Failure =
    Failure { code: "ERR_CRYPTO_UNAUTHENTIC", message: "Unsupported state or unable to authenticate data" };

const TAG_BYTES: usize = 16;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("cipher", Func::from(cipher))
}

/// Encrypts or decrypts whole; a GCM or Poly1305 tag follows the encrypted bytes, or is given as the last argument.
fn cipher<'js>(
    ctx: Ctx<'js>,
    name: String,
    is_encrypt: bool,
    key: Bytes<'js>,
    iv: Bytes<'js>,
    data: Bytes<'js>,
    aad_and_tag: Rest<Option<Bytes<'js>>>,
) -> Result<Bytes<'js>> {
    let extra = |at: usize| aad_and_tag.0.get(at).and_then(Option::as_ref).map(slice).unwrap_or_default();
    let mut data = slice(&data).to_vec();
    if !is_encrypt {
        data.extend_from_slice(extra(1));
    }
    let aad = extra(0);
    give(ctx, apply(&name.to_ascii_lowercase(), Job { is_encrypt, key: slice(&key), iv: slice(&iv), data: &data, aad }))
}

#[derive(Clone, Copy)]
struct Job<'a> {
    is_encrypt: bool,
    key: &'a [u8],
    iv: &'a [u8],
    data: &'a [u8],
    aad: &'a [u8],
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

fn apply(name: &str, job: Job<'_>) -> Outcome<Vec<u8>> {
    let (name, is_padded) = name.strip_suffix("-nopad").map_or((name, true), |name| (name, false));
    if name == "chacha20-poly1305" {
        return seal::<chacha20poly1305::ChaCha20Poly1305>(job);
    }
    let rest = name.strip_prefix("aes-").ok_or(UNKNOWN_CIPHER)?;
    let (bits, mode) = rest.split_once('-').ok_or(UNKNOWN_CIPHER)?;
    match mode {
        "cbc" => with_aes!(bits, Aes => cbc::<Aes>(job, is_padded)),
        "ecb" => with_aes!(bits, Aes => ecb::<Aes>(job, is_padded)),
        "ctr" => with_aes!(bits, Aes => count::<Aes>(job)),
        "gcm" if job.iv.len() == 12 => with_aes!(bits, Aes => seal::<aes_gcm::AesGcm<Aes, U12>>(job)),
        "gcm" if job.iv.len() == 16 => with_aes!(bits, Aes => seal::<aes_gcm::AesGcm<Aes, U16>>(job)),
        "gcm" => Err(BAD_IV),
        _ => Err(UNKNOWN_CIPHER),
    }
}

trait Block:
    aes::cipher::BlockCipher<BlockSize = U16> + aes::cipher::BlockEncrypt + aes::cipher::BlockDecrypt + KeyInit
{
}
impl<T> Block for T where
    T: aes::cipher::BlockCipher<BlockSize = U16> + aes::cipher::BlockEncrypt + aes::cipher::BlockDecrypt + KeyInit
{
}

fn check_lengths<C: KeyInit>(job: &Job<'_>, iv_length: usize) -> Outcome<()> {
    if job.key.len() != C::key_size() {
        return Err(BAD_KEY);
    }
    if job.iv.len() != iv_length { Err(BAD_IV) } else { Ok(()) }
}

fn cbc<C: Block>(job: Job<'_>, is_padded: bool) -> Outcome<Vec<u8>>
where
    cbc::Encryptor<C>: KeyIvInit + BlockEncryptMut,
    cbc::Decryptor<C>: KeyIvInit + BlockDecryptMut,
{
    check_lengths::<C>(&job, 16)?;
    if job.is_encrypt {
        let cipher = cbc::Encryptor::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?;
        return encrypt_blocks(cipher, job.data, is_padded);
    }
    let cipher = cbc::Decryptor::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?;
    decrypt_blocks(cipher, job.data, is_padded)
}

fn ecb<C: Block>(job: Job<'_>, is_padded: bool) -> Outcome<Vec<u8>>
where
    ecb::Encryptor<C>: KeyInit + BlockEncryptMut,
    ecb::Decryptor<C>: KeyInit + BlockDecryptMut,
{
    check_lengths::<C>(&job, 0)?;
    if job.is_encrypt {
        let cipher = <ecb::Encryptor<C> as KeyInit>::new_from_slice(job.key).map_err(|_| BAD_KEY)?;
        return encrypt_blocks(cipher, job.data, is_padded);
    }
    let cipher = <ecb::Decryptor<C> as KeyInit>::new_from_slice(job.key).map_err(|_| BAD_KEY)?;
    decrypt_blocks(cipher, job.data, is_padded)
}

fn encrypt_blocks(cipher: impl BlockEncryptMut, data: &[u8], is_padded: bool) -> Outcome<Vec<u8>> {
    if is_padded {
        return Ok(cipher.encrypt_padded_vec_mut::<Pkcs7>(data));
    }
    if data.len() % 16 != 0 {
        return Err(BAD_BLOCK_LENGTH);
    }
    Ok(cipher.encrypt_padded_vec_mut::<NoPadding>(data))
}

fn decrypt_blocks(cipher: impl BlockDecryptMut, data: &[u8], is_padded: bool) -> Outcome<Vec<u8>> {
    if data.len() % 16 != 0 || (is_padded && data.is_empty()) {
        return Err(BAD_BLOCK_LENGTH);
    }
    let plain = if is_padded {
        cipher.decrypt_padded_vec_mut::<Pkcs7>(data)
    } else {
        cipher.decrypt_padded_vec_mut::<NoPadding>(data)
    };
    plain.map_err(|_| BAD_DECRYPT)
}

fn count<C: Block>(job: Job<'_>) -> Outcome<Vec<u8>>
where
    ctr::Ctr128BE<C>: KeyIvInit + StreamCipher,
{
    check_lengths::<C>(&job, 16)?;
    let mut cipher = ctr::Ctr128BE::<C>::new_from_slices(job.key, job.iv).map_err(|_| BAD_IV)?;
    let mut data = job.data.to_vec();
    cipher.apply_keystream(&mut data);
    Ok(data)
}

fn seal<C: Aead + AeadInPlace + KeyInit>(job: Job<'_>) -> Outcome<Vec<u8>> {
    let cipher = <C as KeyInit>::new_from_slice(job.key).map_err(|_| BAD_KEY)?;
    if job.iv.len() != Nonce::<C>::default().len() {
        return Err(BAD_IV);
    }
    let nonce = Nonce::<C>::from_slice(job.iv);
    let payload = Payload { msg: job.data, aad: job.aad };
    if job.is_encrypt {
        return cipher.encrypt(nonce, payload).map_err(|_| BAD_DECRYPT);
    }
    if job.data.len() < TAG_BYTES {
        return Err(UNAUTHENTIC);
    }
    cipher.decrypt(nonce, payload).map_err(|_| UNAUTHENTIC)
}
