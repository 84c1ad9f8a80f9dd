//! Secrets at rest: envelope encryption with AES-256-GCM.
//!
//! Each value has a data key of its own; the data key is wrapped by a key of the [`KeyRing`], which lives outside the
//! store. Rotation wraps data keys anew and never touches a value. A value opens only in the context it was sealed for,
//! so that a ciphertext copied into another tenant's record stays shut.

mod ring;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use aes_gcm::aead::{Aead, AeadInPlace, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::Secret;
use crate::ports::Entropy;

pub use ring::{KeyRing, RingError};

/// What has to be free before a value that is sealed where it stands.
pub(crate) const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 32;
/// What is added at its end.
pub(crate) const TAG_BYTES: usize = 16;

/// A sealed value, as it is stored: `<key id>.<wrapped data key>.<ciphertext>`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(String);

/// The same without base64, for records that are bytes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedBytes {
    key_id: String,
    #[serde(serialize_with = "at_once")]
    wrapped_key: Vec<u8>,
    #[serde(serialize_with = "at_once")]
    text: Vec<u8>,
}

/// Where a secret belongs: tenant, record and field. Part of what is authenticated.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub tenant: &'a str,
    pub record: &'a str,
    pub field: &'a str,
}

/// Cheap to clone; all clones see a new key at once.
#[derive(Clone)]
pub struct Vault {
    ring: Arc<RwLock<Arc<KeyRing>>>,
    /// Where the keys are kept; none when they were given.
    file: Option<Arc<Path>>,
    entropy: Arc<dyn Entropy>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error("a secret was encrypted with the key {key_id}, which is not the key given to this server")]
    UnknownKey { key_id: String },
    #[error("a stored secret is damaged, or was moved from where it belongs")]
    Damaged,
    #[error("encryption failed")]
    Seal,
}

// === impl Vault ===

impl Vault {
    /// With keys that were given, such as by the environment.
    pub fn new(ring: KeyRing, entropy: Arc<dyn Entropy>) -> Self {
        Self { ring: Arc::new(RwLock::new(Arc::new(ring))), file: None, entropy }
    }

    /// With the keys of a file, which is made when it is not there.
    pub fn open_file(path: &Path, entropy: Arc<dyn Entropy>) -> Result<Self, RingError> {
        let ring = KeyRing::open_file(path, &*entropy)?;
        Ok(Self { file: Some(path.into()), ..Self::new(ring, entropy) })
    }

    /// A secret of this server for another purpose than sealing; another one after a rotation.
    pub fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).derive(purpose)
    }

    /// Puts a new key in front, in the file and for everything that is sealed from now on. False when there is no
    /// file: keys that were given as settings are rotated by the operator.
    pub fn add_key(&self) -> Result<bool, RingError> {
        let Some(path) = &self.file else {
            return Ok(false);
        };
        let ring = Arc::new(KeyRing::rotate_file(path, &*self.entropy)?);
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring;
        Ok(true)
    }

    /// Names the key that seals.
    pub fn current_key_id(&self) -> String {
        self.ring().current_id().to_owned()
    }

    fn ring(&self) -> Arc<KeyRing> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn seal(&self, context: Context<'_>, value: &[u8]) -> Result<Sealed, VaultError> {
        self.seal_bytes(context, value).map(|sealed| sealed.to_text())
    }

    pub fn seal_bytes(&self, context: Context<'_>, value: &[u8]) -> Result<SealedBytes, VaultError> {
        self.seal_in_place(context, with_room(value))
    }

    /// Seals what stands after [`NONCE_BYTES`] that are free, without moving it.
    pub(crate) fn seal_in_place(&self, context: Context<'_>, value: Vec<u8>) -> Result<SealedBytes, VaultError> {
        let (data_key, context) = (Zeroizing::new(self.entropy.bytes::<KEY_BYTES>()), context.to_bytes());
        let text = self.encrypt(&cipher(&data_key), &context, value)?;
        self.wrap(&context, &data_key, text)
    }

    pub fn open(&self, context: Context<'_>, sealed: &Sealed) -> Result<Secret<Vec<u8>>, VaultError> {
        self.open_bytes(context, &sealed.to_bytes()?)
    }

    pub fn open_bytes(&self, context: Context<'_>, sealed: &SealedBytes) -> Result<Secret<Vec<u8>>, VaultError> {
        let context = context.to_bytes();
        let data_key = self.unwrap(&context, sealed)?;
        Ok(Secret::new(decrypt(&cipher(&data_key), &context, &sealed.text)?))
    }

    /// The same secret under the current key; none when it is under it already.
    pub fn rewrap(&self, context: Context<'_>, sealed: &Sealed) -> Result<Option<Sealed>, VaultError> {
        let rewrapped = self.rewrap_bytes(context, &sealed.to_bytes()?)?;
        Ok(rewrapped.map(|sealed| sealed.to_text()))
    }

    pub fn rewrap_bytes(&self, context: Context<'_>, sealed: &SealedBytes) -> Result<Option<SealedBytes>, VaultError> {
        if sealed.key_id == self.ring().current_id() {
            return Ok(None);
        }
        let context = context.to_bytes();
        let data_key = self.unwrap(&context, sealed)?;
        self.wrap(&context, &data_key, sealed.text.clone()).map(Some)
    }

    fn wrap(&self, context: &[u8], data_key: &[u8; KEY_BYTES], text: Vec<u8>) -> Result<SealedBytes, VaultError> {
        let ring = self.ring();
        let wrapped_key = self.encrypt(ring.current(), context, with_room(data_key))?;
        Ok(SealedBytes { key_id: ring.current_id().to_owned(), wrapped_key, text })
    }

    fn unwrap(&self, context: &[u8], sealed: &SealedBytes) -> Result<Zeroizing<[u8; KEY_BYTES]>, VaultError> {
        let ring = self.ring();
        let key = ring.find(&sealed.key_id);
        let key = key.ok_or_else(|| VaultError::UnknownKey { key_id: sealed.key_id.clone() })?;
        let data_key = Zeroizing::new(decrypt(key, context, &sealed.wrapped_key)?);
        data_key.as_slice().try_into().map(Zeroizing::new).map_err(|_| VaultError::Damaged)
    }

    /// Of what stands after the room for its nonce.
    fn encrypt(&self, cipher: &Aes256Gcm, context: &[u8], mut value: Vec<u8>) -> Result<Vec<u8>, VaultError> {
        let (nonce, text) = value.split_at_mut_checked(NONCE_BYTES).ok_or(VaultError::Seal)?;
        self.entropy.fill(nonce);
        let tag = cipher.encrypt_in_place_detached(Nonce::from_slice(nonce), context, text);
        value.extend_from_slice(&tag.map_err(|_| VaultError::Seal)?);
        Ok(value)
    }
}

// === impl Sealed ===

impl Sealed {
    fn to_bytes(&self) -> Result<SealedBytes, VaultError> {
        let decode = |text: &str| STANDARD_NO_PAD.decode(text).map_err(|_| VaultError::Damaged);
        let mut parts = self.0.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(key_id), Some(wrapped_key), Some(text)) => {
                Ok(SealedBytes { key_id: key_id.to_owned(), wrapped_key: decode(wrapped_key)?, text: decode(text)? })
            }
            _ => Err(VaultError::Damaged),
        }
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealed(…)")
    }
}

// === impl SealedBytes ===

impl SealedBytes {
    pub(crate) fn size_bytes(&self) -> usize {
        self.key_id.len() + self.wrapped_key.len() + self.text.len()
    }

    fn to_text(&self) -> Sealed {
        let Self { key_id, wrapped_key, text } = self;
        Sealed(format!("{key_id}.{}.{}", STANDARD_NO_PAD.encode(wrapped_key), STANDARD_NO_PAD.encode(text)))
    }
}

impl fmt::Debug for SealedBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealedBytes(…)")
    }
}

// === impl Context ===

impl Context<'_> {
    fn to_bytes(self) -> Vec<u8> {
        [self.tenant, self.record, self.field].join("\n").into_bytes()
    }
}

/// Not one byte after the other, as serde writes a list; what is written is the same.
pub(crate) fn at_once<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

fn with_room(value: &[u8]) -> Vec<u8> {
    let mut roomy = Vec::with_capacity(NONCE_BYTES + value.len() + TAG_BYTES);
    roomy.resize(NONCE_BYTES, 0);
    roomy.extend_from_slice(value);
    roomy
}

fn cipher(key: &[u8; KEY_BYTES]) -> Aes256Gcm {
    Aes256Gcm::new(key.into())
}

fn decrypt(cipher: &Aes256Gcm, context: &[u8], bytes: &[u8]) -> Result<Vec<u8>, VaultError> {
    let (nonce, text) = bytes.split_at_checked(NONCE_BYTES).ok_or(VaultError::Damaged)?;
    let payload = Payload { msg: text, aad: context };
    cipher.decrypt(Nonce::from_slice(nonce), payload).map_err(|_| VaultError::Damaged)
}

#[cfg(test)]
mod tests;
