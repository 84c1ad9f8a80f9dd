//! Secrets at rest: envelope encryption with AES-256-GCM.
//!
//! Each value has a data key of its own; the data key is wrapped by a key of the [`KeyRing`], which lives outside the
//! store. Rotation wraps data keys anew and never touches a value. A value opens only in the context it was sealed for,
//! so that a ciphertext copied into another tenant's record stays shut.

mod ring;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Secret;
use crate::ports::Entropy;

pub use ring::{KeyRing, RingError};

const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 32;

/// A sealed value, as it is stored: `<key id>.<wrapped data key>.<ciphertext>`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(String);

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
        let data_key = Zeroizing::new(self.entropy.bytes::<KEY_BYTES>());
        let text = self.encrypt(&data_key, context, value)?;
        self.wrap(context, &data_key, &STANDARD_NO_PAD.encode(text))
    }

    pub fn open(&self, context: Context<'_>, sealed: &Sealed) -> Result<Secret<Vec<u8>>, VaultError> {
        let parts = sealed.parts()?;
        let data_key = self.unwrap(context, &parts)?;
        let text = STANDARD_NO_PAD.decode(parts.text).map_err(|_| VaultError::Damaged)?;
        Ok(Secret::new(decrypt(&data_key, context, &text)?))
    }

    /// The same secret under the current key; none when it is under it already.
    pub fn rewrap(&self, context: Context<'_>, sealed: &Sealed) -> Result<Option<Sealed>, VaultError> {
        let parts = sealed.parts()?;
        if parts.key_id == self.ring().current_id() {
            return Ok(None);
        }
        let data_key = self.unwrap(context, &parts)?;
        self.wrap(context, &data_key, parts.text).map(Some)
    }

    fn wrap(&self, context: Context<'_>, data_key: &[u8; KEY_BYTES], text: &str) -> Result<Sealed, VaultError> {
        let ring = self.ring();
        let wrapped = self.encrypt(ring.current(), context, data_key)?;
        let key_id = ring.current_id();
        Ok(Sealed(format!("{key_id}.{}.{text}", STANDARD_NO_PAD.encode(wrapped))))
    }

    fn unwrap(&self, context: Context<'_>, parts: &Parts<'_>) -> Result<Zeroizing<[u8; KEY_BYTES]>, VaultError> {
        let ring = self.ring();
        let key = ring.find(parts.key_id);
        let key = key.ok_or_else(|| VaultError::UnknownKey { key_id: parts.key_id.to_owned() })?;
        let wrapped = STANDARD_NO_PAD.decode(parts.wrapped_key).map_err(|_| VaultError::Damaged)?;
        let data_key = Zeroizing::new(decrypt(key, context, &wrapped)?);
        data_key.as_slice().try_into().map(Zeroizing::new).map_err(|_| VaultError::Damaged)
    }

    fn encrypt(&self, key: &[u8; KEY_BYTES], context: Context<'_>, value: &[u8]) -> Result<Vec<u8>, VaultError> {
        let nonce = self.entropy.bytes::<NONCE_BYTES>();
        let associated = context.to_bytes();
        let payload = Payload { msg: value, aad: &associated };
        let cipher = Aes256Gcm::new_from_slice(key).map_err(|_| VaultError::Seal)?;
        let text = cipher.encrypt(Nonce::from_slice(&nonce), payload).map_err(|_| VaultError::Seal)?;
        Ok([&nonce[..], &text].concat())
    }
}

// === impl Sealed ===

struct Parts<'a> {
    key_id: &'a str,
    wrapped_key: &'a str,
    text: &'a str,
}

impl Sealed {
    /// Without base64: key id, wrapped key, ciphertext.
    pub(crate) fn to_parts(&self) -> Result<(String, Vec<u8>, Vec<u8>), VaultError> {
        let Parts { key_id, wrapped_key, text } = self.parts()?;
        let decode = |text: &str| STANDARD_NO_PAD.decode(text).map_err(|_| VaultError::Damaged);
        Ok((key_id.to_owned(), decode(wrapped_key)?, decode(text)?))
    }

    pub(crate) fn from_parts(key_id: &str, wrapped_key: &[u8], text: &[u8]) -> Self {
        Self(format!("{key_id}.{}.{}", STANDARD_NO_PAD.encode(wrapped_key), STANDARD_NO_PAD.encode(text)))
    }

    fn parts(&self) -> Result<Parts<'_>, VaultError> {
        let mut parts = self.0.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(key_id), Some(wrapped_key), Some(text)) => Ok(Parts { key_id, wrapped_key, text }),
            _ => Err(VaultError::Damaged),
        }
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealed(…)")
    }
}

// === impl Context ===

impl Context<'_> {
    fn to_bytes(self) -> Vec<u8> {
        [self.tenant, self.record, self.field].join("\n").into_bytes()
    }
}

fn decrypt(key: &[u8; KEY_BYTES], context: Context<'_>, bytes: &[u8]) -> Result<Vec<u8>, VaultError> {
    let (nonce, text) = bytes.split_at_checked(NONCE_BYTES).ok_or(VaultError::Damaged)?;
    let associated = context.to_bytes();
    let cipher = Aes256Gcm::new_from_slice(key).map_err(|_| VaultError::Damaged)?;
    let payload = Payload { msg: text, aad: &associated };
    cipher.decrypt(Nonce::from_slice(nonce), payload).map_err(|_| VaultError::Damaged)
}

#[cfg(test)]
mod tests;
