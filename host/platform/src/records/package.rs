//! Programs as they are stored: the component's own modules, and references to the modules of its packages.
//!
//! The modules that a program has of one package are a *package text*: one record, compressed, named by the digest of its
//! content, and stored once for all tenants. `programs/holds.rs` says when it may be deleted.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{RecordError, Stored, compact};
use crate::ports::{Module, ModuleKind};

/// Modules by path.
pub(crate) type Modules = BTreeMap<String, Module>;

type Row = (String, ModuleKind, Arc<str>, BTreeMap<String, String>);

/// What a digest leads to may not be larger than this when it is inflated: the linker's bound on a whole program.
const INFLATED_MAXIMUM: u64 = 160 << 20;

/// A program as it is stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProgramRecord {
    /// Of the whole program. Empty in records of version 1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) digest: String,
    pub(crate) entry: String,
    /// Version 1: all modules, those of packages too, as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) modules: Modules,
    /// Version 2: the component's own modules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<Deflated>,
    /// Version 2: the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) packages: Vec<PackageRef>,
}

/// The modules of the package at a place of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PackageRef {
    /// `/node_modules/a/node_modules/b`.
    pub(crate) location: String,
    /// Of the package text.
    pub(crate) digest: String,
}

/// Modules of the component itself, compressed, in base64: a record of version 2 stays JSON, so that an older host can tell
/// that it is newer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Deflated(String);

/// A package text, of the tenant `packages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageText {
    pub(crate) digest: String,
    /// Before it is compressed.
    encoded: Bytes,
}

/// Beside each package text. A text may be deleted while it says `closing` and no tenant holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackageRecord {
    pub(crate) digest: String,
    pub(crate) is_closing: bool,
    /// Compressed.
    pub(crate) size_bytes: u64,
}

/// A tenant's hold on a package text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackageHold {
    pub(crate) digest: String,
    pub(crate) state: HoldState,
    /// Of this hold: what an earlier one of the same tenant left cannot be mistaken for it.
    pub(crate) nonce: String,
    /// What the tenant is charged for.
    pub(crate) size_bytes: u64,
    pub(crate) taken_at_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HoldState {
    /// Perhaps not stored yet.
    Taking,
    /// Stored, and programs may refer to it.
    Held,
    /// Perhaps not stored any more.
    Releasing,
}

/// What stands where the compressed bytes of a package text are, in the store.
pub(crate) const PACKAGE_TEXT: &str = "package_text";
/// The form of a stored package text.
const DEFLATED: u8 = 1;

impl Stored for ProgramRecord {
    const KIND: &'static str = "program";
    const VERSION: u32 = 2;
    as_json!();

    fn id(&self) -> String {
        self.digest.clone()
    }
}

impl Stored for PackageRecord {
    const KIND: &'static str = "package";
    as_json!();

    fn id(&self) -> String {
        self.digest.clone()
    }
}

impl Stored for PackageHold {
    const KIND: &'static str = "package_hold";
    as_json!();

    fn id(&self) -> String {
        self.digest.clone()
    }
}

// === impl Deflated ===

impl Deflated {
    pub(crate) fn new(modules: &Modules) -> Result<Self, RecordError> {
        Ok(Self(STANDARD_NO_PAD.encode(deflate(&encode(ProgramRecord::KIND, modules)?))))
    }

    pub(crate) fn modules(&self) -> Result<Modules, RecordError> {
        let malformed = |error: &dyn std::fmt::Display| compact::malformed(ProgramRecord::KIND, error);
        let bytes = STANDARD_NO_PAD.decode(&self.0).map_err(|error| malformed(&error))?;
        let inflated = inflate(&bytes).map_err(|error| malformed(&error))?;
        decode(ProgramRecord::KIND, &inflated)
    }
}

// === impl PackageText ===

impl PackageText {
    pub(crate) fn new(modules: &Modules) -> Result<Self, RecordError> {
        let encoded = encode(PACKAGE_TEXT, modules)?;
        Ok(Self { digest: hex::encode(Sha256::digest(&encoded)), encoded })
    }

    /// Before it is compressed.
    pub(crate) fn size_bytes(&self) -> usize {
        self.encoded.len()
    }

    /// As it is stored. It takes some milliseconds for each hundred kilobytes.
    pub(crate) fn deflate(&self) -> Bytes {
        let mut bytes = vec![DEFLATED];
        bytes.extend(deflate(&self.encoded));
        bytes.into()
    }

    /// Refuses what does not have the digest it is stored under.
    pub(crate) fn read(digest: &str, stored: &[u8]) -> Result<Modules, RecordError> {
        let rest = match stored.split_first() {
            Some((&DEFLATED, rest)) => rest,
            Some((form, _)) => {
                let found = u32::from(*form);
                return Err(RecordError::Newer { kind: PACKAGE_TEXT, found, known: u32::from(DEFLATED) });
            }
            None => return Err(RecordError::Damaged { kind: PACKAGE_TEXT }),
        };
        let inflated = inflate(rest).map_err(|_| RecordError::Damaged { kind: PACKAGE_TEXT })?;
        if hex::encode(Sha256::digest(&inflated)) != digest {
            return Err(RecordError::Damaged { kind: PACKAGE_TEXT });
        }
        decode(PACKAGE_TEXT, &inflated)
    }
}

/// Path, kind, text and imports of each, in the order of paths: the same modules have the same bytes.
fn encode(kind: &'static str, modules: &Modules) -> Result<Bytes, RecordError> {
    let row = |(path, module): (&String, &Module)| {
        let Module { kind, source, imports } = module.clone();
        (path.clone(), kind, source, imports)
    };
    compact::encode(kind, &modules.iter().map(row).collect::<Vec<Row>>())
}

fn decode(kind: &'static str, bytes: &[u8]) -> Result<Modules, RecordError> {
    let rows: Vec<Row> = compact::decode(kind, bytes)?;
    Ok(rows.into_iter().map(|(path, kind, source, imports)| (path, Module { kind, source, imports })).collect())
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::default());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn inflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut inflated = Vec::with_capacity(bytes.len().saturating_mul(4).min(16 << 20));
    DeflateDecoder::new(bytes).take(INFLATED_MAXIMUM).read_to_end(&mut inflated)?;
    Ok(inflated)
}
