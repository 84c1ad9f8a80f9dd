//! The keys that wrap data keys: the first is current, the others only open what is old.
//!
//! They come from the environment or from a file in the data folder that only the server may read. A key names itself
//! by its hash, so there is nothing to number and nothing to mix up.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aes_gcm::Aes256Gcm;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::KEY_BYTES;
use crate::ports::Entropy;

pub struct KeyRing {
    current: Key,
    /// Newest first.
    former: Vec<Key>,
}

struct Key {
    id: String,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
    /// Made once: every recorded run has a data key to wrap.
    cipher: Aes256Gcm,
}

#[derive(Debug, thiserror::Error)]
pub enum RingError {
    #[error("an encryption key is 32 bytes in base64; key number {number} is not")]
    Malformed { number: usize },
    #[error("there is no encryption key in what was given")]
    Empty,
    #[error("the key file {path} can be read by others; run: chmod 600 {path}")]
    TooOpen { path: PathBuf },
    #[error("cannot use the key file {path}")]
    File { path: PathBuf, source: io::Error },
}

// === impl KeyRing ===

impl KeyRing {
    /// Keys in base64, separated by commas or white space, the current one first. `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, RingError> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let words = lines.flat_map(|line| line.split(|character: char| character == ',' || character.is_whitespace()));
        let mut keys = Vec::new();
        for word in words.filter(|word| !word.is_empty()) {
            keys.push(Key::parse(word).ok_or(RingError::Malformed { number: keys.len() + 1 })?);
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or(RingError::Empty)?;
        Ok(Self { current, former: keys.collect() })
    }

    /// A secret of its own for another purpose, from the current key.
    pub(super) fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        let mut hasher = Sha256::new();
        hasher.update(*self.current.bytes);
        hasher.update(b"wellspring/");
        hasher.update(purpose);
        hasher.finalize().into()
    }

    /// Reads the key file, or makes one with mode 0600.
    pub fn open_file(path: &Path, entropy: &dyn Entropy) -> Result<Self, RingError> {
        match fs::read_to_string(path) {
            Ok(text) => {
                check_mode(path)?;
                Self::parse(&text)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let ring = Self { current: Key::random(entropy), former: Vec::new() };
                ring.write(path)?;
                Ok(ring)
            }
            Err(source) => Err(RingError::File { path: path.to_owned(), source }),
        }
    }

    /// Puts a new key in front. What is sealed stays readable; `manage::rotation` then wraps it anew.
    pub fn rotate_file(path: &Path, entropy: &dyn Entropy) -> Result<Self, RingError> {
        let Self { current, mut former } = Self::open_file(path, entropy)?;
        former.insert(0, current);
        let ring = Self { current: Key::random(entropy), former };
        ring.write(path)?;
        Ok(ring)
    }

    /// Forgets all keys but the current one. Only after everything was wrapped anew.
    pub fn retire_file(path: &Path, entropy: &dyn Entropy) -> Result<Self, RingError> {
        let ring = Self { former: Vec::new(), ..Self::open_file(path, entropy)? };
        ring.write(path)?;
        Ok(ring)
    }

    pub fn current_id(&self) -> &str {
        &self.current.id
    }

    pub(super) fn current(&self) -> &Aes256Gcm {
        &self.current.cipher
    }

    pub(super) fn find(&self, id: &str) -> Option<&Aes256Gcm> {
        std::iter::once(&self.current).chain(&self.former).find(|key| key.id == id).map(|key| &key.cipher)
    }

    /// Beside its name, then renamed: a crash leaves the old file or the new one.
    fn write(&self, path: &Path) -> Result<(), RingError> {
        let mut text = Zeroizing::new(
            "# Wellspring's encryption keys, current one first. Keep a copy: without them credentials are lost.\n"
                .to_owned(),
        );
        for key in std::iter::once(&self.current).chain(&self.former) {
            text.push_str(&STANDARD.encode(*key.bytes));
            text.push('\n');
        }
        let beside = path.with_extension("new");
        let written = create_private(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        });
        written.map_err(|source| RingError::File { path: path.to_owned(), source })
    }
}

// === impl Key ===

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
        bytes.as_slice().try_into().ok().map(Self::new)
    }

    fn random(entropy: &dyn Entropy) -> Self {
        Self::new(entropy.bytes())
    }

    fn new(bytes: [u8; KEY_BYTES]) -> Self {
        let digest = Sha256::new_with_prefix("wellspring key id").chain_update(bytes).finalize();
        let id = hex::encode(digest).chars().take(8).collect();
        Self { id, cipher: super::cipher(&bytes), bytes: Zeroizing::new(bytes) }
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    // A left-over of a crash is removed first: opening it would keep its mode.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}

#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), RingError> {
    use std::os::unix::fs::PermissionsExt;
    let file = |source| RingError::File { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(file)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(RingError::TooOpen { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_path: &Path) -> Result<(), RingError> {
    Ok(())
}
