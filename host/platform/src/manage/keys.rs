//! API keys: made once, shown once, stored as hashes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::UserId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{DirectoryWrite, Lookup};
use subtle::ConstantTimeEq;

use crate::records::{ApiKey, RecordError, User, names, shelf};
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

/// A key that somebody chose; anything shorter can be guessed.
pub const KEY_BYTES_MINIMUM: usize = 20;
const KEY_BYTES_MAXIMUM: usize = 256;
/// Enough to rotate by hand; a bound because all are listed.
const KEYS_PER_USER: usize = 20;

/// What the directory says about a key.
#[derive(Serialize, Deserialize)]
struct KeyHolder {
    user: UserId,
    key: String,
    hash: String,
}

/// A key in the clear, the only time it is seen.
#[derive(Debug)]
pub struct NewKey {
    pub id: String,
    pub key: Secret<String>,
}

/// The account a key belongs to; none for a key that is not known.
pub async fn authenticate(platform: &Platform, presented: &Secret<String>) -> Result<Option<Caller>, Error> {
    let hash = hash_of(presented.expose());
    let Some(bytes) = platform.store.look_up(&names::api_key(&hash)).await? else {
        return Ok(None);
    };
    let holder: KeyHolder = serde_json::from_slice(&bytes).map_err(malformed)?;
    if !bool::from(holder.hash.as_bytes().ct_eq(hash.as_bytes())) {
        return Ok(None);
    }
    // The directory may run ahead of the record that makes the key valid, or outlive it.
    let tenant = names::tenant(&holder.user);
    let (key, operator) = (holder.key.as_str(), names::operator());
    let key = shelf::find::<ApiKey>(&*platform.store, &tenant, Lookup::Id(key));
    let user = shelf::find::<User>(&*platform.store, &operator, Lookup::Id(holder.user.as_str()));
    let (Some(key), Some(user)) = (key.await?, user.await?) else {
        return Ok(None);
    };
    if !bool::from(key.record.hash.as_bytes().ct_eq(hash.as_bytes())) {
        return Ok(None);
    }
    Ok(Some(Caller::new(user.record, presented.clone())))
}

pub async fn list(caller: &Caller, platform: &Platform) -> Result<Vec<ApiKey>, Error> {
    let keys = shelf::list_all::<ApiKey>(&*platform.store, &caller.tenant).await?;
    Ok(keys.into_iter().map(|kept| kept.record).collect())
}

/// A further key for an account: the way to rotate is to make one, use it, and revoke the old one.
pub async fn create(caller: &Caller, platform: &Platform) -> Result<NewKey, Error> {
    create_for(platform, &caller.user.id, None).await
}

pub async fn revoke(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = shelf::find::<ApiKey>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let found = found.ok_or_else(|| Error::not_found(Noun::Key, id))?;
    // Revoking the only key would lock its owner out.
    if found.record.hash == hash_of(caller.presented_key.expose()) {
        return Err(Error::KeyInUse);
    }
    platform.store.commit(platform.batch(&caller.tenant).then(shelf::delete(&found.record))).await?;
    platform.store.write_directory(DirectoryWrite::Remove { key: names::api_key(&found.record.hash) }).await?;
    Ok(())
}

/// The id of the record that makes a key valid.
pub(crate) fn id_of(key: &Secret<String>) -> String {
    id_of_hash(&hash_of(key.expose()))
}

/// A random key, or the one that was chosen.
pub(crate) async fn create_for(
    platform: &Platform,
    user: &UserId,
    chosen: Option<&Secret<String>>,
) -> Result<NewKey, Error> {
    let tenant = names::tenant(user);
    if super::paging::count::<ApiKey>(&tenant, platform).await? >= KEYS_PER_USER {
        return Err(Error::TooMany { noun: Noun::Key, limit: KEYS_PER_USER });
    }
    let key = match chosen {
        Some(chosen) => check_chosen(chosen)?,
        None => Secret::new(format!("ws_{}", URL_SAFE_NO_PAD.encode(platform.entropy.bytes::<32>()))),
    };
    let hash = hash_of(key.expose());
    let id = id_of_hash(&hash);
    let record = ApiKey { id: id.clone(), hash: hash.clone(), created_at: platform.clock.now_seconds() };
    let holder = KeyHolder { user: user.clone(), key: id.clone(), hash: hash.clone() };
    let value = serde_json::to_vec(&holder).map_err(malformed)?.into();
    let is_ours = platform.store.write_directory(DirectoryWrite::Claim { key: names::api_key(&hash), value }).await?;
    if !is_ours {
        return Err(Error::Taken { noun: Noun::Key, name: id });
    }
    platform.store.commit(platform.batch(&tenant).then(shelf::put(&record)?)).await?;
    Ok(NewKey { id, key })
}

fn check_chosen(chosen: &Secret<String>) -> Result<Secret<String>, Error> {
    let size_bytes = chosen.expose().len();
    let is_plain = chosen.expose().bytes().all(|byte| byte.is_ascii_graphic());
    if size_bytes < KEY_BYTES_MINIMUM || !is_plain {
        return Err(Error::expected("api_key", "at least 20 visible ASCII characters"));
    }
    if size_bytes > KEY_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: KEY_BYTES_MAXIMUM, size_bytes };
        return Err(Error::parameter("api_key", source));
    }
    Ok(chosen.clone())
}

/// Keys have 256 bits of their own or are the operator's choice: a fast hash is enough, and is asked for each request.
fn hash_of(key: &str) -> String {
    hex::encode(Sha256::digest(key))
}

fn id_of_hash(hash: &str) -> String {
    format!("key_{}", hash.chars().take(16).collect::<String>())
}

fn malformed(source: serde_json::Error) -> Error {
    Error::Record(RecordError::Malformed { kind: "key holder", source })
}
